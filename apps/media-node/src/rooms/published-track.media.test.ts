import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Peer } from './peer.js'
import { MediaStack } from './fixtures/media-stack.js'
import { publication, videoTrack } from './fixtures/samples.js'
import { receivable } from '../tracks/rtp.js'
import type { PublishedTrack } from '../tracks/published-track.js'

/** Turns of the event loop: from before the pipe is opened until after that. */
const MOMENTS = 40
const roomId = 'room'

let stack: MediaStack
let far: Peer
let track: PublishedTrack
beforeAll(async () => {
  stack = await MediaStack.start({ size: 2, consumersPerRouter: 4 })
  for (const connectionId of ['pub', 'far']) await stack.join(roomId, connectionId)
  far = stack.peer(roomId, 'far')
  track = await published()
  expect(far.roomRouter).not.toBe(stack.peer(roomId, 'pub').roomRouter)
})
afterAll(() => stack.stop())

async function published(): Promise<PublishedTrack> {
  await stack.service.publish(publication(roomId, 'pub', 'str', [videoTrack()]))
  const [found] = stack.service.rooms.get(roomId).stream('str').tracks
  return found!
}

const turns = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at++) await turn()
}

/** The pause state that a subscriber on the other router sees. */
async function isPausedThere(): Promise<boolean> {
  const rtpCapabilities = receivable(stack.service.rooms.get(roomId).rtpCapabilities)
  const consumer = await far.transport('recv').transport.consume({ producerId: track.producer.id, rtpCapabilities })
  const { producerPaused } = consumer
  consumer.close()
  return producerPaused
}

it('a mute or unmute at any moment while a pipe opens takes effect at its end', async () => {
  for (let moment = 0; moment < MOMENTS; moment++) {
    for (const paused of [true, false]) {
      const providing = track.acquire(far.roomRouter)
      await turns(moment)
      await track.setPaused(paused)
      const release = await providing
      expect([moment, await isPausedThere()]).toEqual([moment, paused])
      release()
    }
  }
  expect(await stack.routers(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
})

it('the end of the track at any moment while a pipe opens leaves nothing behind', async () => {
  for (let moment = 0; moment < MOMENTS; moment++) {
    const providing = track.acquire(far.roomRouter).then(
      () => 'provided',
      (error: { code: string }) => error.code,
    )
    await turns(moment)
    await stack.service.unpublish({ roomId, connectionId: 'pub', streamId: 'str' })
    expect(['provided', 'NOT_FOUND']).toContain(await providing)
    expect(await stack.routers(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
    track = await published()
  }
})

it('releasing twice does not release the piped track of another user', async () => {
  const [one, other] = await Promise.all([track.acquire(far.roomRouter), track.acquire(far.roomRouter)])
  one()
  one()
  expect(await stack.routers(roomId)).toMatchObject([{ consumers: 1 }, { producers: 1 }])
  other()
  expect(await stack.routers(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
})
