import type { VNode } from 'preact'
import type { NodeRow } from '@session-service/contract/dashboard'
import { addNode, drain, removeNode, undoDrain } from '../actions/media-nodes.js'
import { may } from '../data/account.js'
import { useLive } from '../data/live.js'
import { countOf, formatNumber } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { ActionButton, Button } from '../ui/buttons.js'
import { Badge, Id, LoadBar, StatusBadge, Time } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Table, type Column } from '../ui/table.js'

/** The status of a node with what an operator should know beside it. */
export const NodeStatus = ({ node }: { node: NodeRow }): VNode => (
  <span class="stack">
    <span class="named">
      <StatusBadge status={node.status} />
      {!node.connected && node.status === 'running' && <Badge tone="bad">disconnected</Badge>}
      {node.backOff && <Badge tone="warn">{countOf(node.backOff.crashes, 'crash', 'crashes')}</Badge>}
    </span>
    {node.statusReason !== undefined && <span class="note">{node.statusReason}</span>}
    {node.drainDeadline !== undefined && (
      <span class="note">
        ends at the latest <Time at={node.drainDeadline} />
      </span>
    )}
  </span>
)

const SLOTS = { recording: 'recording', speechToText: 'speech' } as const

export const Slots = ({ heartbeat }: Pick<NodeRow, 'heartbeat'>): VNode => (
  <span class="stack">
    {heartbeat?.slots.map(({ kind, used, total }) => (
      <span key={kind} class="figure one-line">
        {formatNumber(used)}/{formatNumber(total)} {SLOTS[kind]}
      </span>
    ))}
    {!heartbeat?.slots.length && <span class="soft">none</span>}
  </span>
)

/** The actions that the status of the node permits. */
export function NodeActions({ node }: { node: NodeRow }): VNode | null {
  if (!may('mediaNodes')) return null
  const { id, status } = node
  return (
    <>
      {status === 'running' && <Button icon="pause" label="Drain" name={`Drain ${id}`} onClick={() => drain(node)} />}
      {status === 'waiting-idle-to-terminate' && (
        <ActionButton
          icon="replay"
          label="Undo drain"
          name={`Undo drain of ${id}`}
          run={() => undoDrain(node)}
          done={`The media node ${id} takes sessions again`}
        />
      )}
      {status !== 'terminated' && status !== 'terminating' && (
        <Button icon="trash" label="Remove" name={`Remove ${id}`} isDangerous onClick={() => removeNode(node)} />
      )}
    </>
  )
}

const COLUMNS: readonly Column<NodeRow>[] = [
  {
    head: 'Media node',
    kind: 'main',
    cell: ({ id, ip, environmentId, heartbeat }) => (
      <span class="stack">
        <a class="strong" href={linkTo('media-node', id)}>
          <Id>{id}</Id>
        </a>
        <span class="note">{[ip, environmentId, heartbeat?.version].filter(Boolean).join(', ')}</span>
      </span>
    ),
  },
  { head: 'Status', cell: (node) => <NodeStatus node={node} /> },
  { head: 'Load', cell: ({ id, load }) => <LoadBar value={load} label={`Load of ${id}`} /> },
  { head: 'Sessions', kind: 'number', cell: ({ sessionCount }) => formatNumber(sessionCount) },
  {
    head: 'Participants',
    kind: 'number',
    cell: ({ heartbeat }) => (heartbeat ? formatNumber(heartbeat.participants) : '–'),
  },
  { head: 'Slots in use', cell: ({ heartbeat }) => <Slots heartbeat={heartbeat} /> },
]
const ACTIONS: Column<NodeRow> = { head: 'Actions', kind: 'actions', cell: (node) => <NodeActions node={node} /> }

export function MediaNodes(): VNode {
  const state = useLive('media-nodes')
  return (
    <Screen
      title="Media nodes"
      note={state.data && countOf(state.data.nodes.length, 'media node')}
      actions={may('mediaNodes') && <Button icon="nodes" label="Add media node" onClick={addNode} />}
    >
      <WhenRead state={state}>
        {({ nodes }) => (
          <Table
            label="Media nodes"
            columns={may('mediaNodes') ? [...COLUMNS, ACTIONS] : COLUMNS}
            rows={nodes}
            keyOf={({ id }) => id}
            empty="Media nodes appear here once one registers. Sessions need at least one."
          />
        )}
      </WhenRead>
    </Screen>
  )
}
