import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Peer } from './peer.js'
import { MediaStack } from './fixtures/media-stack.js'
import { publication, videoTrack } from './fixtures/samples.js'
import { receivable } from '../tracks/rtp.js'
import type { Source } from '../tracks/published-track.js'

/** Turns of the event loop: from before the pipe is begun until after it is done. */
const MOMENTS = 40
const roomId = 'room'

let stack: MediaStack
let far: Peer
let source: Source
beforeAll(async () => {
  stack = await MediaStack.start({ size: 2, consumersPerRouter: 4 })
  for (const connectionId of ['pub', 'far']) await stack.join(roomId, connectionId)
  far = stack.peer(roomId, 'far')
  source = await published()
  expect(far.branch).not.toBe(stack.peer(roomId, 'pub').branch)
})
afterAll(() => stack.stop())

async function published(): Promise<Source> {
  await stack.service.publish(publication(roomId, 'pub', 'str', [videoTrack()]))
  const [track] = stack.service.rooms.get(roomId).stream('str').sources
  return track!
}

const turns = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at++) await turn()
}

/** As a subscriber on the other branch is told by its worker. */
async function isPausedThere(): Promise<boolean> {
  const rtpCapabilities = receivable(stack.service.rooms.get(roomId).rtpCapabilities)
  const consumer = await far.recv.transport.consume({ producerId: source.producer.id, rtpCapabilities })
  const { producerPaused } = consumer
  consumer.close()
  return producerPaused
}

test('a mute and its end at any moment of a pipe being opened are known at its end', async () => {
  for (let moment = 0; moment < MOMENTS; moment++) {
    for (const paused of [true, false]) {
      const providing = source.provide(far.branch)
      await turns(moment)
      await source.setPaused(paused)
      const release = await providing
      expect([moment, await isPausedThere()]).toEqual([moment, paused])
      release()
    }
  }
  expect(await stack.branches(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
})

test('the end of the track at any moment of a pipe being opened leaves nothing of it', async () => {
  for (let moment = 0; moment < MOMENTS; moment++) {
    const providing = source.provide(far.branch).then(
      () => 'provided',
      (error: { code: string }) => error.code,
    )
    await turns(moment)
    await stack.service.unpublish({ roomId, connectionId: 'pub', streamId: 'str' })
    expect(['provided', 'NOT_FOUND']).toContain(await providing)
    expect(await stack.branches(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
    source = await published()
  }
})

test('one who lets go twice does not take it from another', async () => {
  const [one, other] = await Promise.all([source.provide(far.branch), source.provide(far.branch)])
  one()
  one()
  expect(await stack.branches(roomId)).toMatchObject([{ consumers: 1 }, { producers: 1 }])
  other()
  expect(await stack.branches(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0 }])
})
