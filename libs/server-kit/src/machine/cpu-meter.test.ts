import { describe, expect, it } from '@jest/globals'
import { CpuMeter, cpuTimes, timesIn } from './cpu-meter.js'

describe('the CPU load', () => {
  it('is the busy share of all CPUs over the span', () => {
    const meter = new CpuMeter(2)
    expect(meter.load).toBe(0)
    meter.add({ idle: 0, total: 0 })
    expect([meter.load, meter.isMeasured]).toEqual([0, false])
    meter.add({ idle: 1_000, total: 1_000 })
    expect([meter.load, meter.isMeasured]).toEqual([0, true])
    meter.add({ idle: 1_500, total: 2_000 })
    expect(meter.load).toBe(25)
    // The first idle interval has left the span.
    meter.add({ idle: 1_500, total: 3_000 })
    expect(meter.load).toBe(75)
  })

  it('stays between 0 and 100 for any counters of the system', () => {
    const meter = new CpuMeter(1)
    meter.add({ idle: 1_000, total: 2_000 })
    meter.add({ idle: 900, total: 2_050 })
    expect(meter.load).toBe(100)
    meter.add({ idle: 1_200, total: 2_100 })
    expect(meter.load).toBe(0)
  })

  it('is read from all CPUs', () => {
    const stat = 'cpu  2 4 6 30 99 8 99 99 0 0\ncpu0 1 2 3 10 50 4 50 50 0 0\ncpu1 1 2 3 20 49 4 49 49 0 0\nintr 12 3\n'
    expect(timesIn(stat)).toEqual({ idle: 30, total: 50 })
    expect(cpuTimes().total).toBeGreaterThan(cpuTimes().idle)
  })
})
