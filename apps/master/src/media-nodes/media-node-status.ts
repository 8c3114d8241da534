import type { MediaNodeStatus } from '@session-service/contract'

/** The allowed transitions; a node starts with `launching`. */
const NEXT: Record<MediaNodeStatus, readonly MediaNodeStatus[]> = {
  launching: ['canceled', 'failed', 'running'],
  canceled: ['launching', 'terminating'],
  failed: [],
  running: ['waiting-idle-to-terminate', 'terminating'],
  'waiting-idle-to-terminate': ['running', 'terminating'],
  terminating: ['terminated'],
  terminated: [],
}

/** The statuses that REST clients may request, with the statuses from which they may. */
const ON_REQUEST: Partial<Record<MediaNodeStatus, readonly MediaNodeStatus[]>> = {
  canceled: ['launching'],
  launching: ['canceled'],
  'waiting-idle-to-terminate': ['running'],
  running: ['waiting-idle-to-terminate'],
  terminating: ['running', 'waiting-idle-to-terminate'],
}

export const mayBecome = (from: MediaNodeStatus, to: MediaNodeStatus): boolean => NEXT[from].includes(to)
export const mayBeRequested = (from: MediaNodeStatus, to: MediaNodeStatus): boolean =>
  ON_REQUEST[to]?.includes(from) ?? false

/** Statuses of a node whose process runs or should run. */
const UP_STATUSES = ['running', 'waiting-idle-to-terminate', 'terminating'] as const satisfies MediaNodeStatus[]
export const isUp = (status: MediaNodeStatus): boolean => UP_STATUSES.some((up) => up === status)

/** Draining or terminating: a lost node with such a status is terminated instead of awaited. */
export const isLeaving = (status: MediaNodeStatus): boolean =>
  status === 'waiting-idle-to-terminate' || status === 'terminating'
