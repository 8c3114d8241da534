import type { ComponentChildren, VNode } from 'preact'
import { PAGE_SIZE } from '@session-service/contract/dashboard'
import { formatNumber } from '../platform/format.js'
import { setQuery } from '../data/route.js'
import { Empty } from './marks.js'

export interface Column<Row> {
  head: string
  cell: (row: Row) => ComponentChildren
  /** `number` aligns to the right; `actions` has buttons, and its heading is only for screen readers. */
  kind?: 'number' | 'actions' | 'main'
}

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The text in place of a table without rows. */
  empty: ComponentChildren
}

/** A table; on narrow screens each row is a card. Roles are explicit, because cards have no layout of a table. */
export function Table<Row>({ label, columns, rows, keyOf, empty }: TableProps<Row>): VNode {
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return (
    <table class="table" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, kind = '' }) => (
            <th key={head} role="columnheader" scope="col" class={kind}>
              {kind === 'actions' ? <span class="visually-hidden">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ head, cell, kind = '' }) => (
              <td key={head} role="cell" class={kind} data-label={head}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The pages of a table, when there is more than one. */
export function Pager({ page, total }: { page: number; total: number }): VNode | null {
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE))
  if (last === 1 && page === 1) return null
  const go = (to: number) => (): void => setQuery({ page: to })
  const first = Math.min(total, (page - 1) * PAGE_SIZE + 1)
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" class="chip text" disabled={page <= 1} onClick={go(Math.min(page - 1, last))}>
        Previous
      </button>
      <span class="note figure">
        {formatNumber(first)}–{formatNumber(Math.min(total, page * PAGE_SIZE))} of {formatNumber(total)}
      </span>
      <button type="button" class="chip text" disabled={page >= last} onClick={go(page + 1)}>
        Next
      </button>
    </nav>
  )
}
