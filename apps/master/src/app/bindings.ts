import { NodeFact, NodeFactAnswer, QUEUE, SUBJECT } from '@session-service/contract'
import type { BusBinding } from '@session-service/messaging'
import { FACT_PATTERN, REPEATED_FACT_PATTERN } from '../recovery/node-reports.controller.js'

const FACT_TIMEOUT_MS = 10_000
const FACT_RPC = [NodeFact, NodeFactAnswer, FACT_TIMEOUT_MS] as const

/** The bus subject and the schemas of each message pattern of a controller. */
const BINDINGS: Readonly<Record<string, BusBinding>> = {
  /** A queue group: one of the masters answers each report. */
  [FACT_PATTERN]: { subject: SUBJECT.allFacts, rpc: FACT_RPC, queue: QUEUE.masters },
  /** Without a queue group: all masters handle it. */
  [REPEATED_FACT_PATTERN]: { subject: SUBJECT.allRepeatedFacts, rpc: FACT_RPC },
}

export function bindPattern(pattern: string): BusBinding {
  const binding = BINDINGS[pattern]
  if (!binding) throw new Error(`no subject for the pattern "${pattern}"`)
  return binding
}
