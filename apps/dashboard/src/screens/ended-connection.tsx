import type { VNode } from 'preact'
import type { HistoryConnectionView, HistoryMediaView } from '@session-service/contract'
import { countOf, formatDimensions, formatDuration, spaced, words } from '../platform/format.js'
import { participantName } from '../platform/names.js'
import { Id, Quality, Time } from '../ui/marks.js'

const media = ({
  audioEnabled,
  videoEnabled,
  videoSource,
  videoDimensions,
  videoFramerate,
}: HistoryMediaView): string =>
  [
    audioEnabled && 'audio',
    videoEnabled && `${words(videoSource ?? 'video')} video`,
    formatDimensions(videoDimensions),
    videoFramerate ? `${videoFramerate} fps` : undefined,
  ]
    .filter(Boolean)
    .join(', ')

const Stream = ({ stream }: { stream: HistoryMediaView }): VNode => (
  <li>
    <Id>{stream.streamId}</Id>{' '}
    <span class="note">
      {media(stream)} · {formatDuration(stream.duration)} · {spaced(stream.reason)}
    </span>
  </li>
)

/** A connection of an ended session, with its streams and the course of its network quality. */
export function EndedConnection({ connection }: { connection: HistoryConnectionView }): VNode {
  const { connectionId, clientData, serverData, reason, duration, publishers, subscribers, networkQuality } = connection
  const name = participantName(clientData, serverData)
  return (
    <details class="connection">
      <summary>
        <strong class="id">{name || connectionId}</strong>
        <span class="note">
          {formatDuration(duration)} · {spaced(reason)} · {countOf(publishers.numberOfElements, 'stream')} published
        </span>
      </summary>
      <div class="connection-body">
        <p class="note">
          <Id>{connectionId}</Id>, joined <Time at={connection.createdAt} />
        </p>
        {publishers.content.length > 0 && (
          <ul class="plain">
            {publishers.content.map((stream) => (
              <Stream key={`${stream.streamId}${stream.createdAt}`} stream={stream} />
            ))}
          </ul>
        )}
        <p class="note">Received {countOf(subscribers.numberOfElements, 'stream')}.</p>
        {networkQuality.content.length > 0 && (
          <ol class="plain" aria-label="Network quality">
            {networkQuality.content.map(({ timestamp, newValue }) => (
              <li key={timestamp} class="line">
                <Quality level={newValue} />
                <span class="note">after {formatDuration(Math.max(0, timestamp - connection.createdAt) / 1_000)}</span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </details>
  )
}
