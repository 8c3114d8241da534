import { expect, it } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registry } from '../metrics.js'
import { MachineMonitor } from './machine-monitor.js'

const NAMES = [
  'machine_cpu_ratio',
  'machine_memory_used_ratio',
  'machine_recording_disk_free_bytes',
  'machine_recording_disk_size_bytes',
  'machine_recording_disk_min_free_bytes',
]

async function gauges(): Promise<Map<string, number>> {
  const lines = (await registry.metrics()).split('\n')
  return new Map(
    lines.flatMap((line) => {
      const [, name = '', value] = /^session_service_(machine_\w+) (\S+)$/.exec(line) ?? []
      return value === undefined ? [] : [[name, Number(value)]]
    }),
  )
}

it('a machine monitor samples once in an interval, which may change, and exports nothing at interval 0', async () => {
  let intervalMs = 10_000
  const monitor = new MachineMonitor({ intervalMs: () => intervalMs, folder: tmpdir(), minFreeMib: 512 })
  expect([...(await gauges()).keys()]).toEqual([])
  await monitor.sample(0)
  // The CPU load needs two samples.
  expect([...(await gauges()).keys()]).toEqual(NAMES.slice(1))
  await monitor.sample(9_999)
  expect([...(await gauges()).keys()]).toEqual(NAMES.slice(1))
  await monitor.sample(10_000)
  const measured = await gauges()
  expect([...measured.keys()]).toEqual(NAMES)
  expect(measured.get('machine_memory_used_ratio')).toBeGreaterThan(0)
  expect(measured.get('machine_memory_used_ratio')).toBeLessThan(1)
  expect(measured.get('machine_recording_disk_free_bytes')).toBeGreaterThan(0)
  expect(measured.get('machine_recording_disk_free_bytes')).toBeLessThanOrEqual(
    measured.get('machine_recording_disk_size_bytes') ?? 0,
  )
  expect(measured.get('machine_recording_disk_min_free_bytes')).toBe(512 * 1024 ** 2)
  intervalMs = 0
  await monitor.sample(20_000)
  expect([...(await gauges()).keys()]).toEqual([])
})

it('a sample of a machine monitor that is late delays no later one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'machine-'))
  const monitor = new MachineMonitor({ intervalMs: () => 10_000, folder, minFreeMib: 512 })
  await monitor.sample(0)
  await monitor.sample(10_900)
  expect([...(await gauges()).keys()]).toContain('machine_recording_disk_free_bytes')
  rmSync(folder, { recursive: true })
  await monitor.sample(20_000)
  expect([...(await gauges()).keys()]).not.toContain('machine_recording_disk_free_bytes')
})

it('a machine monitor exports no disk without a folder', async () => {
  const monitor = new MachineMonitor({ intervalMs: () => 1_000, folder: undefined, minFreeMib: 512 })
  await monitor.sample(0)
  expect([...(await gauges()).keys()]).toEqual(['machine_memory_used_ratio'])
})
