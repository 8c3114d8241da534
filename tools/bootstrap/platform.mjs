import { spawnSync } from 'node:child_process'
import { Stop } from './stop.mjs'

const NODE_NEEDS_GLIBC = [2, 28]

/** "24.21.0" or "v24.21.0" → [24, 21, 0] */
export const parseVersion = (text) =>
  text
    .trim()
    .replace(/^v/, '')
    .split('.')
    .map((part) => Number.parseInt(part, 10))

/** Negative, zero or positive, like a comparator. */
export function compareVersions(a, b) {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * Decides from plain facts whether the service runs here.
 * Returns `{ id: 'linux-x64', os, arch, libc: 'glibc2.36' }` or throws Stop with the reason.
 */
export function decidePlatform({ os, arch, glibc, node }) {
  if (parseVersion(node)[0] < 20) throw new Stop(`Node 20 or newer is needed to begin with, this is Node ${node}.`)
  if (os !== 'linux' && os !== 'darwin')
    throw new Stop(
      `this system (${os}) is not supported: use Linux with glibc (Debian, Ubuntu) on x64 or arm64; on Windows, WSL 2.`,
    )
  if (arch !== 'x64' && arch !== 'arm64')
    throw new Stop(`this processor (${arch}) is not supported: x64 or arm64 is needed.`)
  if (os === 'darwin') return { id: `${os}-${arch}`, os, arch, libc: 'system' }
  if (!glibc) throw new Stop('this Linux has no glibc (Alpine?): use one that has, such as Debian or Ubuntu.')
  if (compareVersions(parseVersion(glibc), NODE_NEEDS_GLIBC) < 0)
    throw new Stop(`this Linux is too old: glibc 2.28 or newer is needed, here is ${glibc}.`)
  return { id: `${os}-${arch}`, os, arch, libc: `glibc${glibc}` }
}

/** The version of glibc ("2.36"), undefined where there is another C library. */
export function detectGlibc() {
  const { stdout } = spawnSync('getconf', ['GNU_LIBC_VERSION'], { encoding: 'utf8' })
  return /glibc (\d+\.\d+)/.exec(stdout ?? '')?.[1]
}

export const detectPlatform = () =>
  decidePlatform({
    os: process.platform,
    arch: process.arch,
    glibc: process.platform === 'linux' ? detectGlibc() : undefined,
    node: process.versions.node,
  })
