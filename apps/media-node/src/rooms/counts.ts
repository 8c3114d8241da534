/** The size of the node's rooms, updated with each change, so that a heartbeat does not have to count. */
export interface MediaCounts {
  connections: number
  streams: number
  consumers: number
}

export const noCounts = (): MediaCounts => ({ connections: 0, streams: 0, consumers: 0 })
