import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NO_MEDIA } from './media-counts.js'
import { MediaStack } from './fixtures/media-stack.js'
import { publication } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

let rooms = 0
const newRoom = (): string => `room${rooms++}`
const epochOf = (roomId: string): number | undefined => stack.service.rooms.find(roomId)?.epoch
const connectionsOf = (roomId: string): string[] => [...(stack.service.rooms.find(roomId)?.peers.keys() ?? [])]

describe('a room of epoch 5', () => {
  it.each([
    { joins: 4, code: 'CONFLICT', epoch: 5, holds: ['old'] },
    { joins: 5, code: undefined, epoch: 5, holds: ['old', 'new'] },
    { joins: 6, code: undefined, epoch: 6, holds: ['new'] },
  ])('has epoch $epoch after a join with epoch $joins', async ({ joins, code, epoch, holds }) => {
    const roomId = newRoom()
    await stack.join(roomId, 'old', { epoch: 5 })
    await stack.service.publish(publication(roomId, 'old', 'str'))
    const joined = await stack.join(roomId, 'new', { epoch: joins }).catch((error: unknown) => error)
    if (code) expect(joined).toMatchObject({ code })
    expect(epochOf(roomId)).toBe(epoch)
    expect(connectionsOf(roomId)).toEqual(holds)
    const connections = holds.length
    expect(stack.service.counts).toEqual({
      ...NO_MEDIA,
      connections,
      transports: 2 * connections,
      streams: Number(holds.includes('old')),
    })
    await stack.service.closeRoom({ roomId, epoch: 9 })
  })

  it.each([
    { closes: 4, left: 5 },
    { closes: 5, left: undefined },
    { closes: 6, left: undefined },
  ])('has epoch $left after closing epoch $closes', async ({ closes, left }) => {
    const roomId = newRoom()
    await stack.join(roomId, 'con', { epoch: 5 })
    await stack.service.closeRoom({ roomId, epoch: closes })
    expect(epochOf(roomId)).toBe(left)
    await stack.service.closeRoom({ roomId, epoch: 5 })
  })
})

describe('concurrent joins of different epochs', () => {
  it.each([
    { first: 1, second: 2, outcome: ['rejected', 'fulfilled'] },
    { first: 2, second: 1, outcome: ['fulfilled', 'rejected'] },
  ])('$first and $second: the newer one wins', async ({ first, second, outcome }) => {
    const roomId = newRoom()
    const results = await Promise.allSettled([
      stack.join(roomId, 'first', { epoch: first }),
      stack.join(roomId, 'second', { epoch: second }),
    ])
    expect(epochOf(roomId)).toBe(2)
    expect(connectionsOf(roomId)).toEqual([first === 2 ? 'first' : 'second'])
    expect(results.map(({ status }) => status)).toEqual(outcome)
    await stack.service.closeRoom({ roomId, epoch: 2 })
    expect(stack.service.counts).toEqual(NO_MEDIA)
  })

  it('many of three epochs: all of the newest succeed, and nothing of the others is left', async () => {
    const roomId = newRoom()
    const epochs = [1, 3, 2, 3, 1, 2, 3, 2, 3, 1]
    await Promise.allSettled(epochs.map((epoch, at) => stack.join(roomId, `con${at}`, { epoch })))
    expect(epochOf(roomId)).toBe(3)
    expect(connectionsOf(roomId)).toEqual(['con1', 'con3', 'con6', 'con8'])
    expect((await stack.inside(roomId)).transports).toBe(8)
    expect((await [...stack.pool.workers][0]!.worker.dump()).routerIds).toHaveLength(1)
    await stack.service.closeRoom({ roomId, epoch: 3 })
  })

  it('closing an older epoch does not close the newer one that is opening', async () => {
    const roomId = newRoom()
    await stack.join(roomId, 'old', { epoch: 1 })
    await Promise.all([stack.join(roomId, 'new', { epoch: 2 }), stack.service.closeRoom({ roomId, epoch: 1 })])
    expect(epochOf(roomId)).toBe(2)
    await stack.service.closeRoom({ roomId, epoch: 2 })
    expect(stack.service.counts).toEqual(NO_MEDIA)
  })
})

it('held rooms and room events contain the epoch', async () => {
  const roomId = newRoom()
  await stack.join(roomId, 'con', { epoch: 7 })
  expect(stack.service.rooms.held).toEqual([{ roomId, epoch: 7 }])
  expect((await stack.service.inventory({})).rooms).toEqual([
    { roomId, epoch: 7, connectionIds: ['con'], streamIds: [] },
  ])
  stack.service.rooms.get(roomId).report({ kind: 'layersChanged', connectionId: 'con', streamId: 'str', layers: null })
  expect(stack.events.at(-1)).toMatchObject({ roomId, event: { epoch: 7 } })
  await stack.service.closeRoom({ roomId, epoch: 7 })
})
