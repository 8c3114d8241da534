import type { VNode } from 'preact'
import type { SessionRow } from '@session-service/contract/dashboard'
import { account } from '../data/account.js'
import { formatNumber } from '../platform/format.js'
import { mayView } from '../platform/rights.js'
import { linkTo } from '../platform/routes.js'
import { Badge, Id, Quality, Time } from '../ui/marks.js'
import { Table, type Column } from '../ui/table.js'

const NodeLink = ({ id }: { id: string | null }): VNode => {
  if (id === null) return <span class="soft">not placed yet</span>
  return account.value && mayView(account.value.credential.role, 'media-node') ? (
    <a href={linkTo('media-node', id)}>
      <Id>{id}</Id>
    </a>
  ) : (
    <Id>{id}</Id>
  )
}

const NAME: Column<SessionRow> = {
  head: 'Session',
  kind: 'main',
  cell: ({ id, isRecorded, isTranscribed }) => (
    <span class="named">
      <a class="strong" href={linkTo('session', id)}>
        <Id>{id}</Id>
      </a>
      {isRecorded && <Badge tone="bad">recording</Badge>}
      {isTranscribed && <Badge tone="info">transcript</Badge>}
    </span>
  ),
}
const PARTICIPANTS: Column<SessionRow> = {
  head: 'Participants',
  kind: 'number',
  cell: ({ participants }) => formatNumber(participants),
}
const QUALITY: Column<SessionRow> = { head: 'Lowest quality', cell: ({ quality }) => <Quality level={quality} /> }
const SHORT = [NAME, PARTICIPANTS, QUALITY]
const NODE: Column<SessionRow> = { head: 'Media node', cell: ({ mediaNodeId }) => <NodeLink id={mediaNodeId} /> }
const REST: readonly Column<SessionRow>[] = [
  { head: 'Streams', kind: 'number', cell: ({ streams }) => formatNumber(streams) },
  QUALITY,
  { head: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** Sessions; `isShort` has only their size and quality, `isOfNode` leaves out the media node. */
export const SessionTable = (props: {
  label: string
  rows: readonly SessionRow[]
  empty: string
  isShort?: boolean
  isOfNode?: boolean
}): VNode => {
  const { label, rows, empty, isShort, isOfNode } = props
  const columns = isShort ? SHORT : [NAME, ...(isOfNode ? [] : [NODE]), PARTICIPANTS, ...REST]
  return <Table label={label} columns={columns} rows={rows} keyOf={({ id }) => id} empty={empty} />
}

export { NodeLink }
