import { Writable } from 'node:stream'
import { expect, it } from '@jest/globals'
import { writeTogether } from './frame-batches.js'

/** A stream that notes the number of chunks that it gets with each call. */
function streamWithCalls() {
  const calls: number[] = []
  const stream = new Writable({
    writev: (chunks, done) => {
      calls.push(chunks.length)
      done()
    },
  })
  const send = (frame: string): void => {
    writeTogether(stream)
    stream.write(frame)
  }
  return { calls, send, stream }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('frames that several streams get in one turn are written with one call for each stream', async () => {
  const [one, other] = [streamWithCalls(), streamWithCalls()]
  for (const frame of ['first', 'second', 'third']) for (const { send } of [one, other]) send(frame)
  expect(one.calls).toEqual([])
  await turn()
  expect([one.calls, other.calls]).toEqual([[3], [3]])
  one.send('of a later turn')
  await turn()
  expect(one.calls).toEqual([3, 1])
})

it('frames of a stream that exceed 64 KiB do not wait for the end of the turn', () => {
  const { calls, send } = streamWithCalls()
  send('x'.repeat(65 * 1024))
  expect(calls).toEqual([])
  send('next')
  expect(calls).toEqual([1, 1])
})

it('frames of other streams are written when one stream is destroyed meanwhile', async () => {
  const [one, other] = [streamWithCalls(), streamWithCalls()]
  for (const { send } of [one, other]) send('frame')
  one.stream.destroy()
  await turn()
  expect(other.calls).toEqual([1])
})
