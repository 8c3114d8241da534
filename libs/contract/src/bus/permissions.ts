import { type BusRole, busScope, SUBJECT } from './subjects.js'
import type { NodeCommand } from './node.js'

/** The permissions of a role on a bus with authorization. */
export interface BusPermissions {
  publish: readonly string[]
  subscribe: readonly string[]
  /** May publish one reply to each received request, to any reply subject. */
  responds: boolean
}

/** Matches all commands of all nodes; not a command itself. */
const EVERY_COMMAND = SUBJECT.nodeCommand('*', '*' as NodeCommand)

/**
 * Masters use all subjects of their cluster. A media node sends reports and receives commands: it can neither send
 * commands to nodes nor take part in the messages between masters.
 */
export function busPermissions(cluster: string, role: BusRole): BusPermissions {
  const { prefix, inbox } = busScope(cluster, role)
  if (role === 'master') return { publish: [`${prefix}>`], subscribe: [`${prefix}>`], responds: false }
  const reports = [SUBJECT.allHeartbeats, SUBJECT.allFacts, SUBJECT.allRepeatedFacts, SUBJECT.roomEvent('*')]
  // A node that starts without a reachable master checks whether another process holds its id.
  const questions = [SUBJECT.nodeCommand('*', 'inventory')]
  return {
    publish: [...reports, ...questions].map((subject) => prefix + subject),
    subscribe: [prefix + EVERY_COMMAND, prefix + SUBJECT.nodeBoot('*', '*'), `${inbox}.>`],
    responds: true,
  }
}
