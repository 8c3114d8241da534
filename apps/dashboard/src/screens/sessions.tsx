import type { VNode } from 'preact'
import { useLive } from '../data/live.js'
import { route, setQuery } from '../data/route.js'
import { countOf } from '../platform/format.js'
import { pageOf } from '../platform/routes.js'
import { SearchField, Select } from '../ui/fields.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Pager } from '../ui/table.js'
import { SessionTable } from './session-table.js'

const SORTS = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['participants', 'Most participants'],
  ['quality', 'Lowest quality'],
] as const

export function Sessions(): VNode {
  const { query } = route.value
  const { search = '' } = query
  const sort = SORTS.find(([name]) => name === query.sort)?.[0] ?? 'newest'
  const page = pageOf(query)
  const state = useLive('sessions', { search, sort, page })
  const total = state.data && countOf(state.data.total, 'session')
  return (
    <Screen title="Sessions" note={total && (search ? `${total} with “${search}”` : total)}>
      <div class="filters">
        <SearchField label="Search by id" value={search} onSearch={(text) => setQuery({ search: text })} />
        <Select label="Order" value={sort} options={SORTS} onChoose={(chosen) => setQuery({ sort: chosen })} />
      </div>
      <WhenRead state={state}>
        {({ rows, total: all }) => (
          <>
            <SessionTable label="Sessions" rows={rows} empty={emptySentence(search, page)} />
            <Pager page={page} total={all} />
          </>
        )}
      </WhenRead>
    </Screen>
  )
}

function emptySentence(search: string, page: number): string {
  if (search !== '') return `No live session has “${search}” in its id. Ended sessions are in the history.`
  if (page > 1) return 'This page has no sessions any more.'
  return 'Live sessions appear here once a backend creates one.'
}
