import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { MediaStack } from './fixtures/media-stack.js'
import { publication } from './fixtures/samples.js'

const PEOPLE = 200
const roomId = 'room'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start({ size: 3 })))
afterAll(() => stack.stop())

const consumers = (): number[] => stack.service.rooms.get(roomId).routers.map(({ worker }) => worker.consumers)
const names = Array.from({ length: PEOPLE }, (_, index) => `con${index}`)

/** Two peers publish before or after the others join; all subscribe. */
async function fill(publishers: readonly string[], publishFirst: boolean): Promise<void> {
  const publish = (): Promise<unknown> =>
    Promise.all(publishers.map((name) => stack.service.publish(publication(roomId, name, name))))
  const [{ routerRtpCapabilities: rtpCapabilities }] = await Promise.all([
    stack.join(roomId, publishers[0]!),
    stack.join(roomId, publishers[1]!),
  ])
  if (publishFirst) await publish()
  await Promise.all(names.filter((name) => !publishers.includes(name)).map((name) => stack.join(roomId, name)))
  if (!publishFirst) await publish()
  await Promise.all(
    names.flatMap((connectionId) =>
      publishers
        .filter((streamId) => streamId !== connectionId)
        .map((streamId) => stack.service.subscribe({ roomId, connectionId, streamId, rtpCapabilities })),
    ),
  )
}

it.each([
  { when: 'before the audience comes', publishFirst: true },
  { when: 'when the audience is there already', publishFirst: false },
])('200 concurrent peers are spread evenly over two workers; two publish $when', async ({ publishFirst }) => {
  await fill(['con0', 'con1'], publishFirst)
  expect(stack.service.counts).toEqual({
    connections: 200,
    transports: 400,
    streams: 2,
    consumers: 4 * PEOPLE - 4,
    cameras: 0,
    transcodings: 0,
    videoFilters: 0,
    audioFilters: 0,
  })
  // 100 peers with 4 tracks each; publishers receive 2 instead, and 4 tracks are piped to the other router.
  expect(consumers()).toEqual([400, 400])
  expect(await stack.routers(roomId)).toEqual([
    { transports: 201, producers: 4, consumers: 400 },
    { transports: 201, producers: 4, consumers: 400 },
  ])
  expect([...stack.pool.workers].map(({ rooms }) => rooms).toSorted()).toEqual([0, 1, 1])
  await Promise.all(names.map((connectionId) => stack.service.leave({ roomId, connectionId })))
  expect(await stack.inside(roomId)).toEqual({ transports: 0, producers: 0, consumers: 0 })
  await stack.service.closeRoom({ roomId, epoch: 1 })
  expect([...stack.pool.workers].map((worker) => [worker.rooms, worker.consumers])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ])
})
