import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { NO_MEDIA } from './media-counts.js'
import { MediaStack } from './fixtures/media-stack.js'
import { dtls, publication } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start({ size: 2 })))
afterAll(() => stack.stop())

async function cycle(roomId: string): Promise<void> {
  const { service } = stack
  const [{ routerRtpCapabilities: rtpCapabilities }] = await Promise.all([
    stack.join(roomId, 'a'),
    stack.join(roomId, 'b'),
  ])
  await Promise.all([
    service.publish({ ...publication(roomId, 'a', 'a'), dtlsParameters: dtls() }),
    service.publish(publication(roomId, 'b', 'b')),
  ])
  await Promise.all([
    service.subscribe({ roomId, connectionId: 'a', streamId: 'b', rtpCapabilities }),
    service.subscribe({ roomId, connectionId: 'b', streamId: 'a', rtpCapabilities }),
  ])
  await service.unsubscribe({ roomId, connectionId: 'a', streamId: 'b' })
  await service.leave({ roomId, connectionId: 'a' })
  await service.closeRoom({ roomId, epoch: 1 })
}

it('200 sessions leave no object in the workers and no count', async () => {
  await cycle('first')
  const before = await stack.handlers()
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => cycle(`room${round}-${index}`)))
  }
  expect(await stack.handlers()).toEqual(before)
  expect(stack.service.counts).toEqual(NO_MEDIA)
  expect(stack.service.rooms.size).toBe(0)
  expect([...stack.pool.workers].map(({ rooms, consumers }) => ({ rooms, consumers }))).toEqual([
    { rooms: 0, consumers: 0 },
    { rooms: 0, consumers: 0 },
  ])
})
