import type { NodeCommand } from './node.js'

/** Every subject on the bus, and the queue groups. */
export const SUBJECT = {
  nodeCommand: (nodeId: string, command: NodeCommand): string => `node.${nodeId}.${command}`,
  heartbeat: (nodeId: string): string => `heartbeat.${nodeId}`,
  allHeartbeats: 'heartbeat.*',
  fact: (nodeId: string): string => `fact.${nodeId}`,
  allFacts: 'fact.*',
  /** Of one master. */
  masterHealth: (masterId: string): string => `master.${masterId}.health`,
  /** To every master. */
  restart: 'masters.restart',
  /** To every master: a session was placed there. */
  placed: (nodeId: string): string => `placed.${nodeId}`,
  allPlaced: 'placed.*',
  /** Fan-out to the masters that hold sockets of a session. */
  session: (roomId: string): string => `session.${roomId}`,
  roomEvent: (roomId: string): string => `nodeEvent.${roomId}`,
} as const

export const QUEUE = { masters: 'masters' } as const
