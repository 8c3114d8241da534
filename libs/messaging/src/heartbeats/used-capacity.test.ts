import { describe, expect, it } from '@jest/globals'
import { usedCapacity } from './used-capacity.js'

const idle = { cpuLoad: 0, committed: 0, workers: 2 }
const slots = (used: number, total: number) => ({ used, total })

describe('usedCapacity', () => {
  it.each([
    ['nothing', {}, 0],
    ['the CPU load', { cpuLoad: 40, committed: 60 }, 0.4],
    ['the committed cost per worker', { cpuLoad: 20, committed: 60 }, 0.3],
    ['the recordings', { cpuLoad: 20, slots: { recording: slots(3, 4) } }, 0.75],
    ['no loaded language models', { slots: { recording: slots(0, 4), speechToText: slots(2, 2) } }, 0],
    ['no slots of which there are none', { slots: { recording: slots(0, 0) } }, 0],
    ['the committed cost of a node without workers', { committed: 50, workers: 0 }, 0.5],
  ])('is that of the scarcest resource: %s', (_, changes, used) => {
    expect(usedCapacity({ ...idle, ...changes })).toBe(used)
  })
})
