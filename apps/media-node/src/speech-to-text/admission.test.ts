import { describe, expect, it } from '@jest/globals'
import { type Load, MEMORY_RESERVE, requireMemory, requireRoomFor, slotsOf } from './admission.js'

const MIB = 2 ** 20
const load = (changes: Partial<Load> = {}): Load => ({
  slots: 0,
  models: 1,
  available: MEMORY_RESERVE + 1_000 * MIB,
  reserved: 0,
  ...changes,
})

describe('a model is admitted', () => {
  it.each<[string, Load, number]>([
    ['where its memory is available', load(), 1_000],
    ['where a slot is free', load({ slots: 2 }), 250],
  ])('%s', (_case, given, mib) => {
    expect(() => requireRoomFor('en-US', mib * MIB, given)).not.toThrow()
  })

  it.each<[string, Load, number, RegExp]>([
    ['not where all slots are in use', load({ slots: 1 }), 1, /^cannot load the language model en-US: all 1 slots/],
    ['not beyond the memory', load(), 1_001, /needs about 1001 MiB of memory and the media node has 1000 MiB left/],
    ['not beyond the memory that models being loaded leave', load({ reserved: 900 * MIB }), 250, /has 100 MiB left/],
    ['not without any memory', load({ available: 0 }), 1, /has 0 MiB left/],
  ])('%s', (_case, given, mib, message) => {
    expect(() => requireRoomFor('en-US', mib * MIB, given)).toThrow(
      expect.objectContaining({ code: 'NO_CAPACITY', message: expect.stringMatching(message) }),
    )
  })

  it('a stream needs memory and no slot', () => {
    expect(() => requireMemory('recognize', MIB, load({ slots: 1 }))).not.toThrow()
    expect(() => requireMemory('recognize', MIB, load({ available: 0 }))).toThrow(
      /^cannot recognize: it needs about 1 MiB/,
    )
  })
})

it.each<[string, Partial<Load>, { used: number; total: number }]>([
  ['the configured ones', { slots: 3 }, { used: 1, total: 3 }],
  ['at least the used ones', { slots: 1, models: 2 }, { used: 2, total: 2 }],
  ['those that fit into the memory', {}, { used: 1, total: 3 }],
  ['the used ones without memory', { available: 0 }, { used: 1, total: 1 }],
])('the slots are %s', (_case, changes, slots) => {
  expect(slotsOf(load(changes))).toEqual(slots)
})
