import type { VNode } from 'preact'
import { effect } from '@preact/signals'
import type { ClusterSummary } from '@session-service/contract/dashboard'
import { summary } from '../data/live.js'
import { sparklinePath } from '../platform/series.js'

const KEPT = 60
const SAMPLE_MS = 2_000
const history: ClusterSummary[] = []
let sampledAt = Number.NEGATIVE_INFINITY

effect(() => {
  const now = summary.value
  if (!now || performance.now() - sampledAt < SAMPLE_MS) return
  sampledAt = performance.now()
  history.push(now)
  if (history.length > KEPT) history.shift()
})

/** The course of a figure since the page was opened. */
export function Sparkline({ of }: { of: keyof ClusterSummary }): VNode | null {
  const path = sparklinePath(history.map((one) => ({ at: one.now, value: Number(one[of]) })))
  if (path === '') return null
  return (
    <svg class="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}
