import type { VNode } from 'preact'
import type { RecordingRow } from '@session-service/contract/dashboard'
import { deleteRecording, stopRecording } from '../actions/recordings.js'
import { may } from '../data/account.js'
import { openPlayer } from '../data/player.js'
import { formatBytes, formatDuration, words } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { Button } from '../ui/buttons.js'
import { Icon } from '../ui/icon.js'
import { Id, StatusBadge, Time } from '../ui/marks.js'
import { Table, type Column } from '../ui/table.js'

/** The address of the file for browsers. */
const addressOf = ({ path, url }: RecordingRow): string | null => path ?? url
const isFinished = ({ status }: RecordingRow): boolean => status === 'ready' || status === 'failed'

const NAME: Column<RecordingRow> = {
  head: 'Recording',
  kind: 'main',
  cell: ({ id, name, outputMode }) => (
    <span class="stack">
      <strong class="id">{name || id}</strong>
      <span class="note">
        {name && name !== id && (
          <>
            <Id>{id}</Id>,{' '}
          </>
        )}
        {words(outputMode ?? 'COMPOSED')}
      </span>
    </span>
  ),
}
const SESSION: Column<RecordingRow> = {
  head: 'Session',
  cell: ({ sessionId }) => (
    <a href={linkTo('session', sessionId)}>
      <Id>{sessionId}</Id>
    </a>
  ),
}
const REST: readonly Column<RecordingRow>[] = [
  { head: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    head: 'Duration',
    kind: 'number',
    cell: ({ duration }) => (duration > 0 ? formatDuration(duration) : '–'),
  },
  { head: 'Size', kind: 'number', cell: ({ size }) => (size > 0 ? formatBytes(size) : '–') },
  { head: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Actions', kind: 'actions', cell: (row) => <Actions row={row} /> },
]

function Actions({ row }: { row: RecordingRow }): VNode {
  const { id, status, outputMode } = row
  const address = status === 'ready' ? addressOf(row) : null
  return (
    <>
      {address !== null && outputMode !== 'INDIVIDUAL' && (
        <Button
          icon="play"
          label="Play"
          name={`Play ${id}`}
          onClick={() => openPlayer({ title: row.name || id, address })}
        />
      )}
      {address !== null && (
        <a class="chip" href={address} download="" aria-label={`Download ${id}`}>
          <Icon name="download" />
          Download
        </a>
      )}
      {may('record') && (status === 'started' || status === 'starting') && (
        <Button icon="stop" label="Stop" name={`Stop ${id}`} onClick={() => stopRecording(row)} />
      )}
      {may('deleteRecording') && isFinished(row) && (
        <Button icon="trash" label="Delete" name={`Delete ${id}`} isDangerous onClick={() => deleteRecording(row)} />
      )}
    </>
  )
}

export const RecordingTable = (props: {
  label: string
  rows: readonly RecordingRow[]
  empty: string
  isOfSession?: boolean
}): VNode => (
  <Table
    label={props.label}
    columns={[NAME, ...(props.isOfSession ? [] : [SESSION]), ...REST]}
    rows={props.rows}
    keyOf={({ id }) => id}
    empty={props.empty}
  />
)
