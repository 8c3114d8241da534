import type { DrivenNode } from './driver/node-driver.js'
import { isUp } from './media-node-status.js'
import type { MediaNodeRow } from './media-node.repository.js'

/** A launch without anything in the environment is repeated after this time: the master that began it may have died, ms. */
const REPEAT_LAUNCH_MS = 10_000
/** A driven node without a row, or whose row has ended, is dropped after this time, ms. */
const STRAY_MS = 60_000
/** A node has this long to end by itself, ms. */
const ENDS_MS = 15_000

type Row = Pick<MediaNodeRow, 'id' | 'environmentId' | 'status' | 'statusAge' | 'statusReason' | 'isSurge'>

export interface DrivenView {
  rows: readonly Row[]
  driven: readonly DrivenNode[]
  /** Ids of nodes that send heartbeats. */
  alive: ReadonlySet<string>
  /** UTC ms. */
  now: number
}

export type DrivenAction =
  /** The environment has no such node: the launch is repeated. */
  | { kind: 'launch'; row: Row }
  /** The launch fails, and what it has started is dropped. */
  | { kind: 'fail'; id: string; reason: string }
  /** The reason that REST shows changes; null: there is none. */
  | { kind: 'explain'; id: string; reason: string | null }
  /** Drops the rest of an ended node, or of an unknown one. */
  | { kind: 'drop'; node: DrivenNode }

/** Compares the rows of media nodes with what a driver has started. Never drops what may hold a session. Pure. */
export function drivenPlan(view: DrivenView): DrivenAction[] {
  const driven = new Map(view.driven.map((node) => [node.id, node]))
  const rows = new Map(view.rows.map((row) => [row.id, row]))
  return [
    ...view.rows.flatMap((row) => actionOf(row, driven.get(row.id))),
    ...view.driven.filter((node) => isLeftOver(node, rows.get(node.id), view)).map((node) => drop(node)),
  ]
}

const drop = (node: DrivenNode): DrivenAction => ({ kind: 'drop', node })

function actionOf(row: Row, node: DrivenNode | undefined): DrivenAction[] {
  const isLaunch = row.status === 'launching' || row.status === 'canceled'
  if (!isLaunch) return isUp(row.status) ? explain(row, unusual(node)) : []
  if (!node) return row.status === 'launching' && row.statusAge >= REPEAT_LAUNCH_MS ? [{ kind: 'launch', row }] : []
  const hasFailed = node.state === 'failed' || node.state === 'ended' || node.state === 'ending'
  if (hasFailed) return [{ kind: 'fail', id: row.id, reason: node.reason ?? 'it has ended' }]
  return explain(row, node.reason)
}

/** An unready node is no news once it serves: a draining one is not ready either. */
const unusual = (node: DrivenNode | undefined): string | undefined =>
  node?.state === 'starting' ? undefined : node?.reason

const explain = (row: Row, reason: string | undefined): DrivenAction[] =>
  (reason ?? null) === row.statusReason ? [] : [{ kind: 'explain', id: row.id, reason: reason ?? null }]

function isLeftOver(node: DrivenNode, row: Row | undefined, { alive, now }: DrivenView): boolean {
  if (node.isGone || alive.has(node.id)) return false
  if (node.state === 'ending') return node.isStuck
  const isOver = node.state === 'ended' || node.state === 'failed'
  // A database that was restored knows no running node until the next heartbeats.
  if (!row) return isOver || now - node.createdAt >= STRAY_MS
  if (row.status === 'failed') return true
  return row.status === 'terminated' && (isOver || row.statusAge >= ENDS_MS)
}
