/** What the node holds, kept as it changes so that telling it costs nothing. */
export interface MediaCounts {
  connections: number
  streams: number
  consumers: number
}

export const noCounts = (): MediaCounts => ({ connections: 0, streams: 0, consumers: 0 })
