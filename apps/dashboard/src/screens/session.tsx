import type { VNode } from 'preact'
import type { LiveViews } from '@session-service/contract/dashboard'
import { endSession, startRecording } from '../actions/sessions.js'
import { stopRecording } from '../actions/recordings.js'
import { account, may } from '../data/account.js'
import { useLive } from '../data/live.js'
import { countOf, formatDuration, words } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { Button, CopyButton } from '../ui/buttons.js'
import { Badge, Empty, Facts, Panel, Time } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { EventList } from './event-list.js'
import { Participant } from './participants.js'
import { RecordingTable } from './recording-table.js'
import { NodeLink } from './session-table.js'

type View = LiveViews['session']

export function Session({ id }: { id: string }): VNode {
  const state = useLive('session', { id })
  const view = state.failure?.status === 404 ? undefined : state.data
  return (
    <Screen
      title={id}
      parent={[linkTo('sessions'), 'Sessions']}
      mark={
        <>
          <CopyButton text={id} label="Copy the id of the session" />
          {view?.session.recording && <Badge tone="bad">recording</Badge>}
        </>
      }
      actions={view && <Actions id={id} view={view} />}
    >
      {state.failure?.status === 404 && <Ended id={id} />}
      <WhenRead state={state}>{(data) => <Panels view={data} />}</WhenRead>
    </Screen>
  )
}

const Ended = ({ id }: { id: string }): VNode | null =>
  account.value?.features.history ? (
    <p class="notice">
      The session has ended, or never existed.{' '}
      <a href={linkTo('history', '', { session: id })}>Look for it in the history</a>
    </p>
  ) : null

function Actions({ id, view }: { id: string; view: View }): VNode {
  const active = view.recordings.find(({ status }) => status === 'starting' || status === 'started')
  const canRecord = may('record') && account.value?.features.recording && view.participants.length > 0
  return (
    <>
      {active
        ? may('record') && <Button icon="stop" label="Stop recording" onClick={() => stopRecording(active)} />
        : canRecord && <Button icon="record" label="Start recording" onClick={() => startRecording(id)} />}
      {may('endSession') && <Button icon="leave" label="End session" isDangerous onClick={() => endSession(id)} />}
    </>
  )
}

const limit = (value: number | undefined, text = String(value)): string => (value === undefined ? 'none' : text)

function SessionFacts({ session }: { session: View['session'] }): VNode {
  const { maxParticipants, maxStreamsPerParticipant, maxDuration } = session
  return (
    <Panel title="Session">
      <Facts
        facts={[
          ['Created', <Time key="created" at={session.createdAt} />],
          ['Media node', <NodeLink key="node" id={session.mediaNodeId ?? null} />],
          ['Media mode', words(session.mediaMode)],
          ['Recording mode', words(session.recordingMode)],
          ['Video codec', `${session.forcedVideoCodec}${session.allowTranscoding ? ', transcoded if needed' : ''}`],
          ['Maximum participants', limit(maxParticipants)],
          ['Maximum streams each', limit(maxStreamsPerParticipant)],
          ['Maximum duration', limit(maxDuration, formatDuration(maxDuration ?? 0))],
        ]}
      />
    </Panel>
  )
}

function Panels({ view }: { view: View }): VNode {
  const { participants, pending, recordings, events, session } = view
  const invited = pending > 0 ? `, ${countOf(pending, 'unused token')}` : ''
  return (
    <>
      <SessionFacts session={session} />
      <Panel title="Participants" note={`${participants.length}${invited}`}>
        {participants.length === 0 ? (
          <Empty>Participants appear here once a client joins with a token of this session.</Empty>
        ) : (
          <ul class="participants">
            {participants.map((row) => (
              <Participant key={row.id} row={row} />
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Recordings">
        <RecordingTable
          label="Recordings of the session"
          rows={recordings}
          isOfSession
          empty="Recordings of this session appear here."
        />
      </Panel>
      <Panel title="Events">
        <EventList rows={events} isOfSession empty="Events of this session appear here." />
      </Panel>
    </>
  )
}
