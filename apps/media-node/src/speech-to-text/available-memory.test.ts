import { expect, it } from '@jest/globals'
import { availableMemory } from './available-memory.js'

const MIB = 2 ** 20
const MEMINFO = 'MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n'
const machine = (files: Record<string, string> = {}) => {
  const all: Record<string, string> = { '/proc/meminfo': MEMINFO, ...files }
  return (file: string): string | undefined => all[file]
}
const TWO = '/sys/fs/cgroup'
const ONE = '/sys/fs/cgroup/memory'

it.each<[string, (file: string) => string | undefined, number]>([
  ['of the machine', machine(), 4096],
  [
    'of the machine in a group without a limit',
    machine({ '/proc/self/cgroup': '0::/a\n', [`${TWO}/a/memory.max`]: 'max\n' }),
    4096,
  ],
  [
    'of the machine in a group whose limit exceeds the memory of the machine',
    machine({
      '/proc/self/cgroup': '4:memory:/a\n',
      [`${ONE}/a/memory.limit_in_bytes`]: '9223372036854771712\n',
      [`${ONE}/a/memory.usage_in_bytes`]: `${900 * MIB}\n`,
    }),
    4096,
  ],
  [
    'of its control group, where the page cache counts',
    machine({
      '/proc/self/cgroup': '0::/a/b\n',
      [`${TWO}/a/b/memory.max`]: `${1024 * MIB}\n`,
      [`${TWO}/a/b/memory.current`]: `${900 * MIB}\n`,
      [`${TWO}/a/b/memory.stat`]: `anon 5\ninactive_file ${300 * MIB}\nactive_file ${100 * MIB}\n`,
    }),
    524,
  ],
  [
    'of a group around it',
    machine({
      '/proc/self/cgroup': '0::/a/b\n',
      [`${TWO}/a/memory.max`]: `${512 * MIB}\n`,
      [`${TWO}/a/memory.current`]: `${500 * MIB}\n`,
    }),
    12,
  ],
  [
    'of its control group of version 1, mounted at the root',
    machine({
      '/proc/self/cgroup': '5:cpu:/x\n4:memory:/docker/x\n0::/\n',
      [`${ONE}/memory.limit_in_bytes`]: `${800 * MIB}\n`,
      [`${ONE}/memory.usage_in_bytes`]: `${700 * MIB}\n`,
      [`${ONE}/memory.stat`]: `inactive_file 1\ntotal_inactive_file ${50 * MIB}\n`,
    }),
    150,
  ],
  [
    'none beyond the limit of its control group',
    machine({
      '/proc/self/cgroup': '0::/\n',
      [`${TWO}/memory.max`]: `${100 * MIB}\n`,
      [`${TWO}/memory.current`]: `${200 * MIB}\n`,
    }),
    0,
  ],
])('the available memory is that %s', (_case, read, mib) => {
  expect(availableMemory(read) / MIB).toBe(mib)
})

it('without information there is no limit', () => {
  expect(availableMemory(() => undefined)).toBe(Number.POSITIVE_INFINITY)
})
