import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

const FIXTURE = fileURLToPath(new URL('../fixtures/run-as.js', import.meta.url))
const IS_ROOT = process.getuid?.() === 0
/** In the passwd file of every system. */
const ACCOUNT = 'daemon'

interface ProcessEvent {
  event: string
  text?: string
  status?: string
  problems?: string[]
  env?: Record<string, string>
}

class Run {
  readonly #child: ChildProcess
  readonly #events: ProcessEvent[] = []
  #wake: () => void = () => undefined

  constructor(args: readonly string[], wrapper: readonly string[]) {
    const [command = '', ...rest] = [...wrapper, process.execPath, FIXTURE, ...args]
    this.#child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
    const { stdout } = this.#child
    if (stdout) createInterface({ input: stdout }).on('line', (line) => this.#add(JSON.parse(line) as ProcessEvent))
  }

  /** Waits for its next event, which must have this name. */
  async next(event: string): Promise<ProcessEvent> {
    while (this.#events.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    const next = this.#events.shift()
    if (next?.event !== event) throw new Error(`expected ${event}, not ${JSON.stringify(next)}`)
    return next
  }

  continue(): void {
    this.#child.stdin?.write('\n')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #add(event: ProcessEvent): void {
    this.#events.push(event)
    this.#wake()
  }
}

const runs: Run[] = []
const run = (...args: string[]): Run => runIn([], ...args)
const runIn = (wrapper: readonly string[], ...args: string[]): Run => {
  const made = new Run(args, wrapper)
  runs.push(made)
  return made
}

const idOf = (option: string): string => execFileSync('id', [option, ACCOUNT], { encoding: 'utf8' }).trim()
const field = (status: string | undefined, name: string): string[] =>
  new RegExp(`^${name}:\\s*(.*)$`, 'm')
    .exec(status ?? '')?.[1]
    ?.trim()
    .split(/\s+/) ?? []

/** A port that needs root. */
async function privilegedPort(): Promise<number> {
  for (let port = 1023; port > 600; port -= 1) {
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer()
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
  throw new Error('no port below 1024 is free')
}

function get(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-as-'))
  chmodSync(folder, 0o755)
  if (!IS_ROOT) console.warn('not root: dropping root is not tested')
})
afterEach(() => {
  for (const one of runs.splice(0)) one.kill()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Only root can switch. */
const itAsRoot = (name: string, test: () => Promise<void>): void => it(name, IS_ROOT ? test : async () => undefined)

describe('dropPrivileges', () => {
  itAsRoot('drops root with all ids, groups and capabilities, and uses the home of the account', async () => {
    const process = run(ACCOUNT)
    expect((await process.next('log')).text).toBe(
      `dropped root: this process runs as ${ACCOUNT} (uid ${idOf('-u')}, gid ${idOf('-g')})`,
    )
    const { status, env } = await process.next('switched')
    expect(field(status, 'Uid')).toEqual(Array(4).fill(idOf('-u')))
    expect(field(status, 'Gid')).toEqual(Array(4).fill(idOf('-g')))
    expect(field(status, 'Groups').toSorted()).toEqual(idOf('-G').split(' ').toSorted())
    for (const set of ['CapPrm', 'CapEff', 'CapAmb'])
      expect([set, field(status, set)]).toEqual([set, ['0000000000000000']])
    expect(env).toMatchObject({ HOME: '/usr/sbin', USER: ACCOUNT })
    // Its home cannot be written.
    expect(env?.XDG_CACHE_HOME).toContain(`session-service-cache-${idOf('-u')}`)
  })

  itAsRoot('accepts uid:gid without an account', async () => {
    const process = run('61234:61235')
    await process.next('log')
    const { status } = await process.next('switched')
    expect([field(status, 'Uid')[0], field(status, 'Gid')[0], field(status, 'Groups')]).toEqual([
      '61234',
      '61235',
      ['61235'],
    ])
  })

  itAsRoot('keeps a port that needs root over a restart in place, with the addresses of clients', async () => {
    const port = await privilegedPort()
    const process = run(ACCOUNT, String(port))
    for (const event of ['log', 'switched', 'serving']) await process.next(event)
    expect(await get(port, '/first')).toBe('127.0.0.1 /first')
    process.continue()
    await process.next('closed')
    await process.next('serving')
    expect(await get(port, '/second')).toBe('127.0.0.1 /second')
  })

  itAsRoot('creates a missing folder that the account owns', async () => {
    const path = join(folder, 'new', 'deep')
    const process = run(ACCOUNT, '0', path)
    for (const event of ['log', 'switched']) await process.next(event)
    expect(statSync(path).uid).toBe(Number(idOf('-u')))
    expect(statSync(join(path, 'written')).uid).toBe(Number(idOf('-u')))
  })

  itAsRoot('makes the account the owner of an empty folder of root, such as a new volume', async () => {
    const path = join(folder, 'empty')
    mkdirSync(path)
    const process = run(ACCOUNT, '0', path)
    for (const event of ['log', 'switched']) await process.next(event)
    expect(statSync(path).uid).toBe(Number(idOf('-u')))
  })

  itAsRoot('does not change the owner of a folder with content, and names its property', async () => {
    const path = join(folder, 'full')
    mkdirSync(path)
    writeFileSync(join(path, 'other'), '')
    expect((await run(ACCOUNT, '0', path).next('failed')).problems).toEqual([
      expect.stringMatching(/^FOLDER: the folder ".*full" cannot be written by daemon \(SERVICE_RUN_AS\)/),
    ])
    expect(statSync(path).uid).toBe(0)
  })

  itAsRoot('names a file that the account cannot read', async () => {
    const path = join(folder, 'key.pem')
    writeFileSync(path, 'x', { mode: 0o600 })
    expect((await run(ACCOUNT, '0', '', path).next('failed')).problems).toEqual([
      expect.stringMatching(/^FILE: the file ".*key.pem" cannot be read by daemon/),
    ])
    chownSync(path, Number(idOf('-u')), Number(idOf('-g')))
    const process = run(ACCOUNT, '0', '', path)
    for (const event of ['log', 'switched']) await process.next(event)
  })

  itAsRoot('names a port below 1024 that a child process would have to bind', async () => {
    const port = await privilegedPort()
    expect((await run(ACCOUNT, '0', '', '', String(port)).next('failed')).problems).toEqual([
      `PORT: the port ${port} cannot be bound by daemon (SERVICE_RUN_AS)`,
    ])
  })

  itAsRoot('warns once when root stays root, and names the property', async () => {
    const process = run('')
    expect((await process.next('warn')).text).toContain('SERVICE_RUN_AS')
    expect(field((await process.next('switched')).status, 'Uid')[0]).toBe('0')
  })

  itAsRoot('keeps root without a warning when SERVICE_RUN_AS is root', async () => {
    const process = run('root')
    expect(field((await process.next('switched')).status, 'Uid')[0]).toBe('0')
  })

  itAsRoot('names the property when root may not switch to another account', async () => {
    const withoutSetuid = ['setpriv', '--bounding-set', '-setuid', '--inh-caps', '-setuid', '--']
    expect((await runIn(withoutSetuid, ACCOUNT).next('failed')).problems).toEqual([
      expect.stringMatching(/^SERVICE_RUN_AS: cannot switch to daemon: .*EPERM/),
    ])
  })

  it('rejects an account that does not exist', async () => {
    expect((await run('no-such-account').next('failed')).problems).toEqual([
      'SERVICE_RUN_AS: there is no account "no-such-account"',
    ])
  })
})
