import { describe, expect, it } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NAMES = { 'master.calls': ['127.70.0.5'], 'nats.other': ['127.70.0.6'], 'empty.calls': [] }

/** The answer of a program in a pod of the namespace "calls". */
function inPod(code: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'names-'))
  const file = join(folder, 'hosts.json')
  writeFileSync(file, JSON.stringify(NAMES))
  const preload = new URL('./preload.js', import.meta.url).href
  const script = `const print = (value) => console.log(JSON.stringify(value)); ${code}`
  try {
    const env = { RIG_HOSTS: file, RIG_NAMESPACE: 'calls', RIG_POD_ADDRESS: '127.70.32.9' }
    return JSON.parse(
      execFileSync(process.execPath, [`--import=${preload}`, '--input-type=module', '--eval', script], {
        env,
      }).toString(),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}
const lookup = (name: string): string =>
  `import { lookup } from 'node:dns/promises'; print((await lookup('${name}').catch(({ code }) => ({ address: code }))).address)`

describe('names in a pod', () => {
  it.each([
    ['a service of the namespace', 'master', '127.70.0.5'],
    ['a service of another namespace', 'nats.other', '127.70.0.6'],
    ['a full name', 'nats.other.svc.cluster.local', '127.70.0.6'],
    ['the pod itself', 'localhost', '127.70.32.9'],
    ['a service without ready pods', 'empty', 'ENOTFOUND'],
  ])('are those of the cluster: %s', (_, name, address) => {
    expect(inPod(lookup(name))).toBe(address)
  })

  it('are resolved for connections and for the client of NATS, which asks for IPv4 addresses', () => {
    const code = `import dns from 'node:dns'; import net from 'node:net'
      net.connect({ host: 'master', port: 1 }).on('lookup', (_, address) => {
        dns.resolve4('nats.other', (error, found) => print([address, error, found]))
      }).on('error', () => {})`
    expect(inPod(code)).toEqual(['127.70.0.5', null, ['127.70.0.6']])
  })
})

describe('the processors of a pod', () => {
  it('are busy with its own program, and with no other one of the machine', () => {
    const code = `import { spawn } from 'node:child_process'; import { cpus } from 'node:os'
      const sum = () => cpus().reduce((all, { times }) =>
        ({ busy: all.busy + times.user + times.sys + times.nice + times.irq, idle: all.idle + times.idle }), { busy: 0, idle: 0 })
      const others = cpus().map(() => spawn(process.execPath, ['--eval', 'for (;;);']))
      const idle = sum()
      await new Promise((resolve) => setTimeout(resolve, 300))
      const waited = sum()
      for (const end = performance.now() + 300; performance.now() < end; );
      const worked = sum()
      for (const other of others) other.kill()
      const load = (from, to) => (to.busy - from.busy) / (to.busy - from.busy + to.idle - from.idle)
      print([load(idle, waited), load(waited, worked)])`
    const [waiting, working] = inPod(code) as [number, number]
    expect(waiting).toBeLessThan(0.2)
    expect(working).toBeGreaterThan(waiting)
  })
})
