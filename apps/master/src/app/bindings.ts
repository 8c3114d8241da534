import { NodeFact, NodeFactAnswer, QUEUE, SUBJECT } from '@session-service/contract'
import type { BusBinding } from '@session-service/messaging'
import { FACT_PATTERN } from '../recovery/node-reports.controller.js'

const FACT_TIMEOUT_MS = 10_000

/** The bus subject and the schemas of each message pattern of a controller. */
const BINDINGS: Readonly<Record<string, BusBinding>> = {
  /** A queue group: one of the masters answers each report. */
  [FACT_PATTERN]: { subject: SUBJECT.allFacts, rpc: [NodeFact, NodeFactAnswer, FACT_TIMEOUT_MS], queue: QUEUE.masters },
}

export function bindPattern(pattern: string): BusBinding {
  const binding = BINDINGS[pattern]
  if (!binding) throw new Error(`no subject for the pattern "${pattern}"`)
  return binding
}
