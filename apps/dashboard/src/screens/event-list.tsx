import type { VNode } from 'preact'
import type { EventRow } from '@session-service/contract/dashboard'
import { linkTo } from '../platform/routes.js'
import { prettyJson } from '../platform/format.js'
import { Empty, Id, Time } from '../ui/marks.js'

/** Events with their payloads, which open below. Open ones stay open while others arrive. */
export function EventList(props: { rows: readonly EventRow[]; empty: string; isOfSession?: boolean }): VNode {
  const { rows, empty, isOfSession = false } = props
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return (
    <ol class="events">
      {rows.map((row) => (
        <li key={row.id}>
          <Event row={row} isOfSession={isOfSession} />
        </li>
      ))}
    </ol>
  )
}

function Event({ row, isOfSession }: { row: EventRow; isOfSession: boolean }): VNode {
  const { name, sessionId, createdAt, payload } = row
  return (
    <div class="event">
      <details>
        <summary>
          <span class="event-name">{name}</span>
          <span class="note">
            <Time at={createdAt} />
          </span>
        </summary>
        <pre tabIndex={0} aria-label={`Payload of ${name}`}>
          {prettyJson(payload)}
        </pre>
      </details>
      {sessionId !== null && !isOfSession && (
        <a class="event-session" href={linkTo('session', sessionId)}>
          <Id>{sessionId}</Id>
        </a>
      )}
    </div>
  )
}
