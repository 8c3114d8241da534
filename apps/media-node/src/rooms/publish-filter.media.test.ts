import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom } from './fixtures/publisher.js'
import { publication } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

it('a stream that is published with a filter is in its room when the filter begins', async () => {
  const begun: unknown[] = []
  const roomId = newRoom()
  stack.service.filters = {
    begin: (stream, filter) => begun.push([filter, stack.service.rooms.get(roomId).stream(stream.id) === stream]),
    inputReplaced: () => undefined,
  }
  await stack.join(roomId, 'pub')
  const filter = { filterId: 'filter', type: 'BlurFilter', options: {} }
  await stack.service.publish({ ...publication(roomId, 'pub', 'str'), filter })
  await stack.service.publish(publication(roomId, 'pub', 'other'))
  expect(begun).toEqual([[filter, true]])
})
