import type { Units } from '@session-service/contract'

/** The size of rooms, updated with each change, so that a heartbeat does not have to count. */
export const NO_MEDIA = {
  connections: 0,
  transports: 0,
  streams: 0,
  consumers: 0,
  cameras: 0,
  transcodings: 0,
  videoFilters: 0,
  audioFilters: 0,
} as const satisfies Units
export type MediaCounts = Record<keyof typeof NO_MEDIA, number>
