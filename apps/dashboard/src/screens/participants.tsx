import type { VNode } from 'preact'
import type { ParticipantRow } from '@session-service/contract/dashboard'
import { changeRole, evict, unpublish } from '../actions/sessions.js'
import { may } from '../data/account.js'
import { countOf, formatDimensions, words } from '../platform/format.js'
import { participantName } from '../platform/names.js'
import { Button, IconButton } from '../ui/buttons.js'
import { Icon } from '../ui/icon.js'
import { Badge, Id, Quality, Time } from '../ui/marks.js'

type Publisher = NonNullable<ParticipantRow['publishers']>[number]

const Track = ({ kind, isActive }: { kind: 'mic' | 'camera'; isActive: boolean }): VNode => {
  const medium = kind === 'mic' ? 'Audio' : 'Video'
  return (
    <span class={isActive ? 'track' : 'track off'}>
      <Icon name={isActive ? kind : `${kind}Off`} />
      {isActive ? medium : `${medium} muted`}
    </span>
  )
}

function Stream({ stream, participant }: { stream: Publisher; participant: ParticipantRow }): VNode {
  const { streamId, mediaOptions } = stream
  const { hasAudio, audioActive = true, hasVideo, videoActive = true, typeOfVideo } = mediaOptions
  const figures = [
    formatDimensions(mediaOptions.videoDimensions),
    mediaOptions.frameRate ? `${mediaOptions.frameRate} fps` : undefined,
  ]
  return (
    <li class="stream">
      <span class="stack">
        <span class="named">
          <strong>{typeOfVideo ? words(typeOfVideo) : 'audio'}</strong>
          {hasAudio && <Track kind="mic" isActive={audioActive} />}
          {hasVideo && <Track kind="camera" isActive={videoActive} />}
          <span class="note">{figures.filter(Boolean).join(', ')}</span>
        </span>
        <span class="note">
          <Id>{streamId}</Id>
        </span>
      </span>
      {may('unpublish') && (
        <IconButton
          icon="close"
          label={`Unpublish ${streamId}`}
          kind="quiet"
          onClick={() => unpublish(participant.sessionId, participant.id, streamId)}
        />
      )}
    </li>
  )
}

/** A participant or an IP camera of the session. */
export function Participant({ row }: { row: ParticipantRow }): VNode {
  const { id, role, type, publishers, subscribers, activeAt, createdAt, quality } = row
  const name = participantName(row.clientData, row.serverData)
  return (
    <li class="participant" aria-label={name || id}>
      <div class="who">
        <span class="named">
          <strong class="id">{name || id}</strong>
          <Badge tone="neutral">{type === 'IPCAM' ? `camera ${row.cameraStatus ?? ''}` : words(role ?? '')}</Badge>
        </span>
        <Client row={row} isNamed={name !== ''} />
        <span class="note">
          joined <Time at={activeAt ?? createdAt} />, receives {countOf(subscribers?.length ?? 0, 'stream')}
        </span>
        {row.cameraError && <span class="problem">{row.cameraError}</span>}
      </div>
      <div class="sends">
        {(quality !== null || !!publishers?.length) && <Quality level={quality} />}
        {publishers?.length ? (
          <ul class="streams">
            {publishers.map((stream) => (
              <Stream key={stream.streamId} stream={stream} participant={row} />
            ))}
          </ul>
        ) : (
          <span class="soft">Publishes nothing</span>
        )}
      </div>
      <div class="actions">
        {may('changeRole') && type === 'WEBRTC' && (
          <Button label="Change role" name={`Change role of ${id}`} onClick={() => changeRole(row)} />
        )}
        {may('evict') && (
          <Button
            label={type === 'IPCAM' ? 'Remove' : 'Evict'}
            name={`Evict ${id}`}
            isDangerous
            onClick={() => evict(row)}
          />
        )}
      </div>
    </li>
  )
}

const Client = ({ row, isNamed }: { row: ParticipantRow; isNamed: boolean }): VNode | null => {
  const known = [isNamed && row.id, row.platform, row.ip, row.location, row.rtspUri].filter(
    (text) => text && text !== 'unknown',
  )
  return known.length > 0 ? <span class="note id">{known.join(' · ')}</span> : null
}
