import { expect, it } from '@jest/globals'
import { countsBetween, type PublisherSample } from './publisher-sample.js'

const sample = (packets: Record<number, number>): PublisherSample => ({
  counted: new Map(Object.entries(packets).map(([ssrc, count]) => [Number(ssrc), { packets: count, lost: 0 }])),
  jitterMs: 1,
  isConnected: true,
  isActive: true,
})

it.each([
  ['a track that still sends', { 1: 10 }, { 1: 30 }, { received: 20, isActive: true }],
  ['a track that sends nothing more', { 1: 10 }, { 1: 10 }, { received: 0, isActive: true }],
  ['a new track that has sent nothing so far', { 1: 10 }, {}, { received: 0, isActive: false }],
  ['a new track', { 1: 10 }, { 2: 5 }, { received: 5, isActive: false }],
  ['a track that has never sent', {}, {}, { received: 0, isActive: true }],
])('%s has these counts', (_, before, after, counts) => {
  expect(countsBetween(sample(before), sample(after))).toMatchObject(counts)
})
