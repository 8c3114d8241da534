import type { VNode } from 'preact'
import { account } from '../data/account.js'
import { useLive } from '../data/live.js'
import { route, setQuery } from '../data/route.js'
import { countOf, formatBytes } from '../platform/format.js'
import { pageOf } from '../platform/routes.js'
import { SearchField, Select } from '../ui/fields.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Pager } from '../ui/table.js'
import { RecordingTable } from './recording-table.js'

const STATUSES = [
  ['', 'All'],
  ['starting', 'Starting'],
  ['started', 'Started'],
  ['stopped', 'Stopped, in progress'],
  ['ready', 'Ready'],
  ['failed', 'Failed'],
] as const

export function Recordings(): VNode {
  const { query } = route.value
  const { search = '' } = query
  const status = STATUSES.find(([name]) => name === query.status)?.[0] ?? ''
  const page = pageOf(query)
  const state = useLive('recordings', { search, status, page })
  const isFiltered = search !== '' || status !== ''
  return (
    <Screen
      title="Recordings"
      note={state.data && `${countOf(state.data.total, 'recording')}, ${formatBytes(state.data.bytes)}`}
    >
      <div class="filters">
        <SearchField
          label="Search by id, name or session"
          value={search}
          onSearch={(text) => setQuery({ search: text })}
        />
        <Select label="Status" value={status} options={STATUSES} onChoose={(chosen) => setQuery({ status: chosen })} />
      </div>
      <WhenRead state={state}>
        {({ rows, total }) => (
          <>
            <RecordingTable label="Recordings" rows={rows} empty={emptySentence(isFiltered)} />
            <Pager page={page} total={total} />
          </>
        )}
      </WhenRead>
    </Screen>
  )
}

function emptySentence(isFiltered: boolean): string {
  if (isFiltered) return 'No recording matches.'
  return account.value?.features.recording
    ? 'Recordings of sessions appear here, from their start until they are deleted.'
    : 'The service does not record: SERVICE_RECORDING is false.'
}
