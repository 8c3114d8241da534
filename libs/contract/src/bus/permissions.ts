import { type BusRole, busScope, SUBJECT } from './subjects.js'
import type { NodeCommand } from './node.js'

/** What one role may do where the bus has authorization. */
export interface BusPermissions {
  publish: readonly string[]
  subscribe: readonly string[]
  /** May publish one reply to each request that it receives, wherever the reply has to go. */
  responds: boolean
}

/** Not a command: every command of every node. */
const EVERY_COMMAND = SUBJECT.nodeCommand('*', '*' as NodeCommand)

/**
 * Masters use all subjects of their cluster. A media node reports about itself and takes commands: it can neither give
 * orders to nodes nor take part in the messages between masters.
 */
export function busPermissions(cluster: string, role: BusRole): BusPermissions {
  const { prefix, inbox } = busScope(cluster, role)
  if (role === 'master') return { publish: [`${prefix}>`], subscribe: [`${prefix}>`], responds: false }
  const reports = [SUBJECT.allHeartbeats, SUBJECT.allFacts, SUBJECT.roomEvent('*')]
  // A node that starts while masters are away asks whether another process has its id.
  const questions = [SUBJECT.nodeCommand('*', 'inventory')]
  return {
    publish: [...reports, ...questions].map((subject) => prefix + subject),
    subscribe: [prefix + EVERY_COMMAND, prefix + SUBJECT.nodeBoot('*', '*'), `${inbox}.>`],
    responds: true,
  }
}
