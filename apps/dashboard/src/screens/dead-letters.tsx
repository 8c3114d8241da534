import type { VNode } from 'preact'
import type { DeadLetterRow } from '@session-service/contract/dashboard'
import { deleteLetter, deleteLetters, replayLetter, replayLetters } from '../actions/others.js'
import { may } from '../data/account.js'
import { useLive } from '../data/live.js'
import { route } from '../data/route.js'
import { countOf, formatNumber, prettyJson } from '../platform/format.js'
import { linkTo, pageOf } from '../platform/routes.js'
import { ActionButton, Button } from '../ui/buttons.js'
import { Id, Time } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Pager, Table, type Column } from '../ui/table.js'

const COLUMNS: readonly Column<DeadLetterRow>[] = [
  {
    head: 'Event',
    kind: 'main',
    cell: ({ name, payload }) => (
      <details class="payload">
        <summary>{name}</summary>
        <pre tabIndex={0} aria-label={`Payload of ${name}`}>
          {prettyJson(payload)}
        </pre>
      </details>
    ),
  },
  {
    head: 'Session',
    cell: ({ sessionId }) =>
      sessionId === null ? (
        <span class="soft">none</span>
      ) : (
        <a href={linkTo('session', sessionId)}>
          <Id>{sessionId}</Id>
        </a>
      ),
  },
  { head: 'Attempts', kind: 'number', cell: ({ attempts }) => formatNumber(attempts) },
  { head: 'Last error', cell: ({ lastError }) => <span class="id">{lastError}</span> },
  { head: 'Given up', cell: ({ deadAt }) => <Time at={deadAt} /> },
]

const ACTIONS: Column<DeadLetterRow> = {
  head: 'Actions',
  kind: 'actions',
  cell: (row) => (
    <>
      <ActionButton
        icon="replay"
        label="Replay"
        name={`Replay ${row.name}`}
        run={() => replayLetter(row)}
        done={`The service posts ${row.name} again`}
      />
      <Button icon="trash" label="Delete" name={`Delete ${row.name}`} isDangerous onClick={() => deleteLetter(row)} />
    </>
  ),
}

export function DeadLetters(): VNode {
  const page = pageOf(route.value.query)
  const state = useLive('dead-letters', { page })
  const total = state.data?.total ?? 0
  return (
    <Screen
      title="Dead letters"
      note={
        state.data
          ? `${countOf(total, 'event')} that the webhook did not accept`
          : 'Events that the webhook did not accept'
      }
      actions={
        may('deadLetters') &&
        total > 0 && (
          <>
            <Button icon="replay" label="Replay all" onClick={() => replayLetters(total)} />
            <Button icon="trash" label="Delete all" isDangerous onClick={() => deleteLetters(total)} />
          </>
        )
      }
    >
      <WhenRead state={state}>
        {({ rows }) => (
          <>
            <Table
              label="Dead letters"
              columns={may('deadLetters') ? [...COLUMNS, ACTIONS] : COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
              empty="Events that the webhook refuses after all retries appear here. There are none."
            />
            <Pager page={page} total={total} />
          </>
        )}
      </WhenRead>
    </Screen>
  )
}
