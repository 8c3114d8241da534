import { describe, expect, it } from '@jest/globals'
import { endOf, freeName, startOf } from './individual.js'

describe('freeName', () => {
  it.each([
    [[], { name: 'str_A.webm', streamId: 'str_A' }, 'str_A.webm'],
    [['str_A.webm'], { name: 'str_A.webm', streamId: 'str_A' }, 'str_A-1.webm'],
    [['str_A.webm', 'str_A-1.webm'], { name: 'str_A-1.webm', streamId: 'str_A' }, 'str_A-2.webm'],
    [['str_A.webm'], { name: 'str_A.mkv', streamId: 'str_A' }, 'str_A-1.mkv'],
    [['str_A.webm'], { name: 'str_B.webm', streamId: 'str_B' }, 'str_B.webm'],
    [['x.webm'], { name: 'x.webm' }, 'x-1.webm'],
  ])('with %j taken, %j gets the name %s', (taken, file, name) => expect(freeName(new Set(taken), file)).toBe(name))
})

describe('endOf a file', () => {
  it.each([
    ['is the reported end', { startedAt: 1_000, endedAt: 3_900 }, 3, 3_900],
    ['is limited by the duration of its media', { startedAt: 1_000, endedAt: 64_000 }, 3, 4_000],
    ['is the reported end when the duration is unknown', { startedAt: 1_000, endedAt: 64_000 }, undefined, 64_000],
  ])('%s', (_, file, duration, end) => expect(endOf(file, duration)).toBe(end))
})

describe('startOf a recording', () => {
  it.each([
    ['is that of the first file', [13_000, 10_000], 10_000],
    ['is that of the first file, limited by a master whose clock is behind', [13_000, 10_013], 10_013],
    ['is the known one when the first file was lost', [13_000, 10_400], 10_000],
    ['is the known one without files', [], 10_000],
  ])('%s', (_, starts, start) => {
    const files = starts.map((startedAt) => ({ startedAt }))
    expect(startOf(10_000, files)).toBe(start)
  })
})
