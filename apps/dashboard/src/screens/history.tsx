import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { HistorySessionListView, HistorySessionView } from '@session-service/contract'
import { account, apiPath, request } from '../data/account.js'
import { messageFrom } from '../data/http.js'
import { route, setQuery } from '../data/route.js'
import { capitalized, formatDuration, formatNumber, spaced } from '../platform/format.js'
import { dayOf, historyQuery, REASONS, startOfDay } from '../platform/history-query.js'
import { linkTo } from '../platform/routes.js'
import { Button } from '../ui/buttons.js'
import { SearchField, Select, TextField } from '../ui/fields.js'
import { Empty, Id, Loading, Problem, Time } from '../ui/marks.js'
import { Screen } from '../ui/screen.js'
import { Table, type Column } from '../ui/table.js'

const COLUMNS: readonly Column<HistorySessionView>[] = [
  {
    head: 'Session',
    kind: 'main',
    cell: ({ id, uniqueSessionId }) => (
      <a class="strong" href={linkTo('ended-session', uniqueSessionId)}>
        <Id>{id}</Id>
      </a>
    ),
  },
  { head: 'Ended', cell: ({ destroyedAt }) => <Time at={destroyedAt} /> },
  { head: 'Reason', cell: ({ reason }) => spaced(reason) },
  { head: 'Duration', kind: 'number', cell: ({ duration }) => formatDuration(duration) },
  { head: 'Users', kind: 'number', cell: ({ numberOfUsers }) => formatNumber(numberOfUsers) },
  { head: 'Connections', kind: 'number', cell: ({ numberOfConnections }) => formatNumber(numberOfConnections) },
  { head: 'Recordings', kind: 'number', cell: ({ numberOfRecordings }) => formatNumber(numberOfRecordings) },
]

interface Pages {
  rows: readonly HistorySessionView[] | undefined
  next: string | undefined
  error: string
}
const NONE: Pages = { rows: undefined, next: undefined, error: '' }

/** The first page of the history, and more on demand. */
function useHistory(query: string) {
  const [pages, setPages] = useState(NONE)
  const read = async (after?: string): Promise<Pages> => {
    const given = new URLSearchParams(query)
    if (after !== undefined) given.set('after', after)
    const view = await request<HistorySessionListView>('GET', `${apiPath('history', 'sessions')}?${given}`)
    return { rows: view.content, next: view.next, error: '' }
  }
  useEffect(() => {
    let isCurrent = true
    const take = (result: Pages): void => void (isCurrent && setPages(result))
    read().then(take, (error: unknown) => take({ ...NONE, error: messageFrom(error) }))
    return () => void (isCurrent = false)
  }, [query])
  const more = async (): Promise<void> => {
    const { next } = pages
    if (next === undefined) return
    const page = await read(next).catch((error: unknown) => ({ rows: [], next, error: messageFrom(error) }))
    // The answer belongs to these rows only as long as no other filter replaced them.
    setPages((now) => (now.next === next ? { ...page, rows: [...(now.rows ?? []), ...(page.rows ?? [])] } : now))
  }
  return { ...pages, more }
}

const REASON_OPTIONS = [
  ['', 'All'] as const,
  ...REASONS.map((reason) => [reason, capitalized(spaced(reason))] as const),
]

export const History = (): VNode =>
  account.value?.features.history ? (
    <EndedSessions />
  ) : (
    <Screen title="History">
      <Empty>The service keeps no history: SERVICE_HISTORY is false.</Empty>
    </Screen>
  )

function EndedSessions(): VNode {
  const { query } = route.value
  const filter = historyQuery(query)
  const { rows, next, error, more } = useHistory(filter)
  return (
    <Screen title="History" note="Sessions that have ended, the last one first.">
      <Filters query={query} />
      {error && <Problem>{error}</Problem>}
      {rows === undefined && !error && <Loading />}
      {rows && (
        <Table
          label="Ended sessions"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ uniqueSessionId }) => uniqueSessionId}
          empty={filter === '' ? 'Sessions appear here after they have ended.' : 'No ended session matches.'}
        />
      )}
      {next !== undefined && (
        <p class="pager">
          <Button label="Show more" onClick={() => void more()} />
        </p>
      )}
    </Screen>
  )
}

function Filters({ query }: { query: Readonly<Record<string, string>> }): VNode {
  return (
    <div class="filters">
      <SearchField label="Session id" value={query.session ?? ''} onSearch={(session) => setQuery({ session })} />
      <SearchField label="Media node" value={query.mediaNode ?? ''} onSearch={(mediaNode) => setQuery({ mediaNode })} />
      <Select
        label="Reason"
        value={query.reason ?? ''}
        options={REASON_OPTIONS}
        onChoose={(reason) => setQuery({ reason })}
      />
      <TextField
        label="Ended from"
        type="date"
        value={dayOf(query.from)}
        onEnter={(day) => setQuery({ from: startOfDay(day, 0) })}
      />
      <TextField
        label="Ended until"
        type="date"
        value={dayOf(query.to, -1)}
        onEnter={(day) => setQuery({ to: startOfDay(day, 1) })}
      />
    </div>
  )
}
