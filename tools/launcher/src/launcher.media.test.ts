import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, expect, it } from '@jest/globals'
import { startNats, removePostgresData, serverAccount } from '@session-service/local-stack'
import {
  createTestDatabase,
  descendantsOf,
  freePorts,
  isAlive,
  processesNamed,
  publishRaw,
  ServiceApi,
  until,
} from '@session-service/testing'

const START_MS = 60_000
/** Longer than the grace time of processes that lost their parent. */
const ORPHANS_MS = 40_000
const data = mkdtempSync(join(tmpdir(), 'launcher-'))
chmodSync(data, 0o755)
const running: Launcher[] = []

afterEach(async () => {
  for (const launcher of running.splice(0)) await launcher.end('SIGKILL')
  // Media nodes that a master started outlive it.
  await until('no media node is left', () => {
    const left = mediaNodesWith(`MEDIA_NODE_RECORDING_PATH=${data}/`)
    for (const pid of left) spawnSync('kill', ['-KILL', String(pid)])
    return left.length === 0
  })
})
afterAll(async () => {
  await removePostgresData(join(data, 'postgres'))
  rmSync(data, { recursive: true, force: true })
})

class Launcher {
  output = ''
  readonly exited: Promise<number | null>
  constructor(readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (this.output += String(text)))
    this.exited = new Promise((resolve) => child.once('close', (code) => resolve(code)))
  }
  get pid(): number {
    return this.child.pid ?? 0
  }
  says(words: string): Promise<true> {
    return until(`the launcher says "${words}"; it said:\n${this.output}`, () => this.output.includes(words), START_MS)
  }
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal)
    return this.exited
  }
}

async function launch(args: string[] = [], env: Record<string, string> = {}): Promise<Launcher & { port: number }> {
  const [port = 0] = await freePorts(1)
  const main = join(import.meta.dirname, 'main.js')
  const page = args.includes('--playground') ? [] : ['--no-playground']
  const child = spawn(process.execPath, [main, ...page, '--data', data, '--port', String(port), ...args], {
    env: { ...process.env, MEDIA_NODE_IP: '127.0.0.1', SERVICE_HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const launcher = Object.assign(new Launcher(child), { port })
  running.push(launcher)
  return launcher
}

const secret = (): string => readFileSync(join(data, 'secret'), 'utf8').trim()
const api = (port: number, password = secret(), host = '127.0.0.1'): ServiceApi =>
  new ServiceApi(`http://${host}:${port}`, password)

/** Media nodes with a variable that begins with the text, of any parent. */
const mediaNodesWith = (variable: string): number[] =>
  processesNamed('apps/media-node')
    .map(({ pid }) => pid)
    .filter((pid) => environmentOf(pid).some((each) => each.startsWith(variable)))

/** Empty when the process has ended meanwhile. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

const nodesOf = (launcher: Launcher): number[] =>
  descendantsOf(launcher.pid)
    .filter(({ command }) => command.includes('apps/media-node'))
    .map(({ pid }) => pid)

/** The bus rejects a client without credentials, and only the owner can read its configuration. */
async function expectGuardedBus(launcher: Launcher): Promise<void> {
  const { command = '' } = descendantsOf(launcher.pid).find((each) => each.command.includes('nats-server')) ?? {}
  const port = /--port (\d+)/.exec(command)?.[1]
  const restart = { subject: 'masters.restart', payload: '{"generation":99}' }
  await expect(publishRaw(`nats://127.0.0.1:${port}`, [restart])).rejects.toThrow(/Authorization Violation/)
  for (const file of ['nats.conf', 'nats-master', 'nats-node', 'secret'])
    expect([file, statSync(join(data, file)).mode & 0o777]).toEqual([file, 0o600])
  const password = readFileSync(join(data, 'nats-master'), 'utf8').trim()
  expect(launcher.output).not.toContain(password)
  const environments = nodesOf(launcher).map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'))
  expect(environments.filter((text) => text.includes(password))).toEqual([])
}

it('starts all processes, keeps sessions and secret over a restart, and leaves no process', async () => {
  const first = await launch(['--nodes', '2'])
  await first.says('Session Service is ready')
  expect(nodesOf(first)).toHaveLength(2)
  expect(first.output).toContain(secret())
  await expectGuardedBus(first)
  const session = await api(first.port).createSession({ customSessionId: 'kept' })
  const family = descendantsOf(first.pid).map(({ pid }) => pid)
  expect(await first.end('SIGINT')).toBe(0)
  expect(first.output).toContain('All processes have stopped.')
  // The reaper ends after the launcher.
  await until('nothing is left of it', () => family.filter(isAlive).length === 0)

  const kept = secret()
  const second = await launch()
  await second.says('Session Service is ready')
  expect(secret()).toBe(kept)
  expect(await api(second.port).getSession('kept')).toMatchObject({ id: session.id, createdAt: session.createdAt })
  expect(await second.end('SIGTERM')).toBe(0)
}, 180_000)

/** The effective user of each process. `/proc/<pid>` itself belongs to root once a process has dropped root. */
const uidOf = (pid: number): number =>
  Number(/^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

const uidsOf = (launcher: Launcher, part: string): number[] => [
  ...new Set(
    descendantsOf(launcher.pid)
      .filter(({ command }) => command.includes(part))
      .map(({ pid }) => uidOf(pid)),
  ),
]

it('a launcher run by root starts all other processes unprivileged, also on data that root wrote', async () => {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  const { uid } = serverAccount() ?? own
  const file = join(data, 'recordings', 'earlier', 'file')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  for (const path of [dirname(file), file]) chownSync(path, own.uid, own.gid)
  // The account owned the folder before root wrote to it.
  chownSync(join(data, 'recordings'), uid, own.gid)
  const [page = 0] = await freePorts(1)
  // The launcher starts one media node, the master the other.
  const launcher = await launch(['--playground'], {
    PLAYGROUND_PORT: String(page),
    SERVICE_PRO_CLUSTER_ENVIRONMENT: 'process',
    SERVICE_PRO_CLUSTER_MEDIA_NODES: '2',
  })
  await launcher.says('Session Service is ready')
  const findStarted = async (): Promise<string | false> => {
    const { content } = await api(launcher.port).listMediaNodes()
    return (
      content.filter(({ connected }) => connected).length === 2 &&
      (content.find(({ environmentId }) => environmentId)?.id ?? false)
    )
  }
  const started = await until('both media nodes are there', findStarted, START_MS)
  for (const path of [join(data, 'recordings'), dirname(file), file, join(data, 'nats.conf')])
    expect([path, statSync(path).uid]).toEqual([path, uid])
  for (const part of ['apps/master', 'apps/media-node', 'apps/playground', 'nats-server', 'mediasoup-worker'])
    expect([part, uidsOf(launcher, part)]).toEqual([part, [uid]])
  const [master] = descendantsOf(launcher.pid).filter(({ command }) => command.includes('apps/master'))
  process.kill(master?.pid ?? 0, 'SIGKILL')
  // The restarted master finds and ends the media node that the killed one started.
  const remove = () =>
    api(launcher.port)
      .request('DELETE', `/media-nodes/${started}`)
      .catch(() => undefined)
  await until('the media node is removed', async () => [200, 204].includes((await remove())?.status ?? 0), START_MS)
  await until('its process has ended', () => mediaNodesWith(`MEDIA_NODE_ID=${started}`).length === 0, START_MS)
  expect(await launcher.end('SIGINT')).toBe(0)
}, 180_000)

it('--reset deletes stored data and secrets', async () => {
  const before = existsSync(join(data, 'secret')) ? secret() : ''
  const launcher = await launch(['--reset'])
  await launcher.says('Session Service is ready')
  expect(secret()).not.toBe(before)
  expect(await api(launcher.port).listSessions()).toMatchObject({ numberOfElements: 0 })
  expect(await launcher.end('SIGINT')).toBe(0)
})

it('leaves no process after SIGKILL, and can be started again', async () => {
  const launcher = await launch()
  await launcher.says('Session Service is ready')
  const family = descendantsOf(launcher.pid).map(({ pid }) => pid)
  expect(family.length).toBeGreaterThan(4)
  await launcher.end('SIGKILL')
  await until('nothing is left of it', () => family.filter(isAlive).length === 0, ORPHANS_MS)
  const again = await launch()
  await again.says('Session Service is ready')
  expect(await again.end('SIGINT')).toBe(0)
}, 180_000)

it('restarts a killed media node, master, NATS and Postgres', async () => {
  const launcher = await launch()
  await launcher.says('Session Service is ready')
  const nodes = async () =>
    (await api(launcher.port).listMediaNodes()).content.map(({ id, connected }) => ({ id, connected }))
  const before = await until('the media node is there', async () => {
    const there = await nodes()
    return there.length === 1 && there[0]?.connected && there
  })
  for (const part of ['apps/media-node', 'apps/master', 'nats-server', 'bin/postgres -D']) {
    const find = () => descendantsOf(launcher.pid).find(({ command }) => command.includes(part))
    const victim = find()
    if (!victim) throw new Error(`${part} does not run`)
    process.kill(victim.pid, 'SIGKILL')
    const isBack = (): boolean => ![undefined, victim.pid].includes(find()?.pid)
    await until(`${part} is back`, isBack, START_MS)
    await until('the API takes work', () => api(launcher.port).createSession(), START_MS)
  }
  // The restarted node has the same id: the masters report no lost node.
  await until('the media node is there again', async () => {
    expect(await nodes()).toEqual(before)
    return true
  })
  const deaths = launcher.output
    .split('\n')
    .filter((line) => line.includes('exited (killed by a signal), restarting in 0.5 s'))
  expect(deaths).toHaveLength(4)
  expect(await launcher.end('SIGINT')).toBe(0)
}, 180_000)

it('uses an external Postgres and NATS without starting its own, and one address for all servers', async () => {
  const database = await createTestDatabase()
  const nats = await startNats()
  const host = '127.0.0.2'
  const launcher = await launch([], {
    ...{ DATABASE_URL: database.url, NATS_URL: nats.url, SERVICE_SECRET: 'given_secret' },
    ...{ SERVICE_HOST: host, SERVICE_OPS_HOST: host },
  })
  await launcher.says('Session Service is ready')
  expect(launcher.output).toContain(`http://${host}:${launcher.port}/service/api/sessions`)
  expect(descendantsOf(launcher.pid).filter(({ command }) => /nats-server|bin\/postgres/.test(command))).toEqual([])
  await api(launcher.port, 'given_secret', host).createSession({ customSessionId: 'outside' })
  expect(await database.query('SELECT count(*)::int AS count FROM session')).toEqual([{ count: 1 }])
  expect(await launcher.end('SIGINT')).toBe(0)
  await nats.stop()
  await database.drop()
})

it('rejects a second launcher on the same folder, naming the process of the first', async () => {
  const first = await launch()
  await first.says('Session Service is ready')
  const second = await launch()
  expect(await second.exited).toBe(2)
  expect(second.output).toContain(`the service is already running: ${data} is in use by process ${first.pid}`)
  expect(await first.end('SIGINT')).toBe(0)
})

it('names an invalid property and leaves no process', async () => {
  const launcher = await launch([], { SERVICE_SESSIONS_GARBAGE_INTERVAL: 'soon' })
  expect(await launcher.exited).toBe(1)
  expect(launcher.output).toContain('SERVICE_SESSIONS_GARBAGE_INTERVAL')
  expect(processesNamed(data)).toEqual([])
})

it('stops gracefully at a signal during the start', async () => {
  const launcher = await launch()
  await launcher.says('postgres     ready')
  expect(await launcher.end('SIGINT')).toBe(0)
  expect(processesNamed(data)).toEqual([])
})

it('kills all processes at a second signal', async () => {
  const launcher = await launch()
  await launcher.says('Session Service is ready')
  const family = descendantsOf(launcher.pid)
  const master = family.find(({ command }) => command.includes('apps/master'))
  // A suspended master does not stop.
  process.kill(master?.pid ?? 0, 'SIGSTOP')
  launcher.child.kill('SIGINT')
  await launcher.says('Stopping')
  launcher.child.kill('SIGINT')
  expect(await launcher.exited).toBe(130)
  await until('nothing is left of it', () => family.every(({ pid }) => !isAlive(pid)), ORPHANS_MS)
})

const { VOSK_LIBRARY, VOSK_MODELS } = process.env
const itWithVosk = VOSK_LIBRARY && VOSK_MODELS ? it : it.skip

itWithVosk(
  '--speech turns captions on: the media node loads the English model',
  async () => {
    const launcher = await launch(['--speech', 'en-US'])
    await launcher.says('live captions are on: en-US')
    const lookUp = async () =>
      (await api(launcher.port).listMediaNodes()).content.find(({ connected }) => connected)?.id
    const id = await until('the media node is there', lookUp)
    const load = (lang: string) =>
      api(launcher.port).request('POST', '/speech-to-text/load', { lang, mediaNode: { id } })
    expect((await load('de-DE')).status).toBe(404)
    expect((await load('en-US')).status).toBe(200)
    expect(uidsOf(launcher, 'slot-process')).toEqual(uidsOf(launcher, 'apps/media-node'))
    expect(await launcher.end('SIGINT')).toBe(0)
  },
  180_000,
)

it('--help prints the options and starts no process', async () => {
  const launcher = await launch(['--help'])
  expect(await launcher.exited).toBe(0)
  expect(launcher.output).toContain('Usage: npm start')
})
