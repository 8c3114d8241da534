import { expect, it } from '@jest/globals'
import type { MediaService } from '../rooms/media.service.js'
import { NetworkQualityService } from './network-quality.service.js'

/** A room whose only publisher is measured each second; `reads` counts that. */
function roomWithPublisher() {
  let reads = 0
  const producer = {
    getStats: async () => {
      reads += 1
      return []
    },
    rtpParameters: { codecs: [] },
  }
  const room = { id: 'room', epoch: 1, networkQualityMs: 1_000, peers: new Map<string, unknown>() }
  const streams = new Map([['stream', { tracks: [{ producer }] }]])
  room.peers.set('publisher', { room, connectionId: 'publisher', streams, sendTransports: [] })
  return { media: { rooms: [room] } as unknown as MediaService, reads: () => reads }
}

it('a publisher is measured once in its interval, also when ticks are some ms late or early', async () => {
  const { media, reads } = roomWithPublisher()
  let now = 0
  const service = new NetworkQualityService(
    media,
    () => undefined,
    () => now,
  )
  const readsAt: number[] = []
  for (const tick of [4, 500, 1_001, 1_502, 2_000, 2_503, 3_001]) {
    now = tick
    const before = reads()
    await service.measure()
    if (reads() > before) readsAt.push(tick)
  }
  expect(readsAt).toEqual([4, 1_001, 2_000, 3_001])
})
