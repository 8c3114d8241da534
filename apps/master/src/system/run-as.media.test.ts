import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, isFree, mayRead, executableFor, serverAccount, startMaster } from '@session-service/local-stack'
import {
  type AppProcess,
  descendantsOf,
  startStack,
  type Stack,
  SyntheticParticipant,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

const account = usableAccount()
let stack: Stack
let folder = ''
/** A folder that `POST restart` may name and the account cannot write. */
const closed = (): string => join(folder, 'closed')

beforeAll(async () => {
  if (!account) return
  folder = mkdtempSync(join(tmpdir(), 'run-as-'))
  chmodSync(folder, 0o755)
  mkdirSync(closed())
  const { MEDIASOUP_WORKER_BIN: worker } = process.env
  stack = await startStack({
    env: {
      SERVICE_RUN_AS: account.name,
      SERVICE_RECORDING_PATH: join(folder, 'recordings'),
      MEDIA_NODE_RECORDING_PATH: join(folder, 'jobs'),
      ...(worker !== undefined && { MEDIASOUP_WORKER_BIN: executableFor(account, worker) }),
    },
    masterEnv: { SERVICE_RECORDING: 'true', SERVICE_RESTART_PATHS: JSON.stringify([closed()]) },
  })
})
afterAll(async () => {
  if (!account) return
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Undefined, with a warning, where processes cannot switch to another account. */
function usableAccount(): Account | undefined {
  const found = serverAccount()
  if (found && mayRead(found, import.meta.filename)) return found
  const why = found ? `${found.name} cannot read ${import.meta.dirname}` : 'not root'
  console.warn(`${why}: processes that drop root are not tested`)
  return undefined
}
const itAsRoot = (name: string, test: (account: Account) => Promise<void>): void =>
  it(name, account ? () => test(account) : async () => undefined)

/** The ids of every thread of the process, and its groups and capabilities. */
function identityOf(pid: number): { ids: string[]; groups: string; capabilities: string } {
  const threads = readdirSync(`/proc/${pid}/task`).map((tid) => readFileSync(`/proc/${pid}/task/${tid}/status`, 'utf8'))
  const of = (name: string): string[] => [
    ...new Set(threads.map((status) => new RegExp(`^${name}:\\s*(.*?)\\s*$`, 'm').exec(status)?.[1] ?? '')),
  ]
  return { ids: [...of('Uid'), ...of('Gid')], groups: sorted(of('Groups').join()), capabilities: of('CapEff').join() }
}

const sorted = (words: string): string => words.trim().split(/\s+/).toSorted().join(' ')
const four = (id: number): string => [id, id, id, id].join('\t')
const expected = ({ uid, gid, name }: Account) => ({
  ids: [four(uid), four(gid)],
  groups: sorted(execFileSync('id', ['-G', name], { encoding: 'utf8' })),
  capabilities: '0000000000000000',
})

const recording = async (id: string) => (await stack.rest('GET', `/recordings/${id}`)).body as Record<string, unknown>

/** Records a new session; resolves to the identity of the recording program and to the finished recording. */
async function record(): Promise<{ program: unknown; finished: Record<string, unknown> }> {
  const { id } = await stack.api.createSession()
  const { token } = await stack.api.createConnection(id, {})
  const alice = await SyntheticParticipant.join(token ?? '')
  await alice.publish({ video: false })
  const started = await stack.rest('POST', '/recordings/start', { session: id, outputMode: 'INDIVIDUAL' })
  expect([started.status, started.body]).toEqual([200, expect.objectContaining({ status: 'started' })])
  const ffmpeg = descendantsOf(stack.nodes[0]?.pid ?? 0).find(({ command }) => command.startsWith('ffmpeg'))
  const program = identityOf(ffmpeg?.pid ?? 0)
  expect((await stack.rest('POST', `/recordings/stop/${id}`)).status).toBe(200)
  const finished = await until(
    'the recording is finished',
    async () => {
      const found = await recording(id)
      return found.status !== 'stopped' && found
    },
    PATIENCE_MS,
  )
  await alice.leave()
  return { program, finished }
}

describe('SERVICE_RUN_AS of processes that root starts', () => {
  itAsRoot('the master, the media node and its media workers have dropped root in every thread', async (as) => {
    const workers = descendantsOf(stack.nodes[0]?.pid ?? 0).filter(({ command }) =>
      command.includes('mediasoup-worker'),
    )
    expect(workers).toHaveLength(1)
    for (const { pid } of [...stack.masters, ...stack.nodes, ...workers])
      expect([pid, identityOf(pid)]).toEqual([pid, expected(as)])
    expect(stack.journal.find('runs as root')).toEqual([])
  })

  itAsRoot('a recording is made, and its files belong to the account', async (as) => {
    const { program, finished } = await record()
    expect(program).toEqual(expected(as))
    expect(finished).toMatchObject({ status: 'ready' })
    const made = join(folder, 'recordings', String(finished.id))
    for (const path of [made, join(made, `${String(finished.id)}.zip`)]) expect(statSync(path).uid).toBe(as.uid)
  })

  itAsRoot('a restart in place serves again, and refuses a folder that the account cannot write', async (as) => {
    const refused = await stack.rest('POST', '/restart', { SERVICE_RECORDING_PATH: closed() })
    expect([refused.status, refused.body]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringMatching(/^SERVICE_RECORDING_PATH: .* cannot be .*EACCES/) }),
    ])
    const answer = await stack.rest('POST', '/restart', { SERVICE_RECORDING_AUTOSTOP_TIMEOUT: 7 })
    expect(answer.status).toBe(200)
    await until('the new configuration is in force', async () => {
      const { status, body } = await stack.rest('GET', '/config').catch(() => ({ status: 0, body: undefined }))
      return status === 200 && (body as Record<string, unknown>).SERVICE_RECORDING_AUTOSTOP_TIMEOUT === 7
    })
    // Requests that read are answered some time before the others.
    await until('the restarted master accepts changes', async () => {
      return (await stack.rest('POST', '/sessions', {})).status === 200
    })
    expect(identityOf(stack.masters[0]?.pid ?? 0)).toEqual(expected(as))
    expect((await record()).finished).toMatchObject({ status: 'ready' })
  })

  itAsRoot('ports below 1024 stay bound over a restart in place', async (as) => {
    const [port, opsPort] = await privilegedPorts()
    const env = { SERVICE_PORT: String(port), SERVICE_OPS_PORT: String(opsPort) }
    const master = await stack.addMaster({ ...env, SERVICE_PUBLICURL: `http://127.0.0.1:${port}` })
    expect(identityOf(master.pid)).toEqual(expected(as))
    const authorization = stack.authorization
    const shown = async (): Promise<unknown> => {
      const answer = await fetch(`http://127.0.0.1:${port}/service/api/config`, { headers: { authorization } })
      return ((await answer.json()) as Record<string, unknown>).SERVICE_RECORDING_AUTOSTOP_TIMEOUT
    }
    await shown()
    expect((await stack.rest('POST', '/restart', { SERVICE_RECORDING_AUTOSTOP_TIMEOUT: 9 })).status).toBe(200)
    await until('the restarted master answers', async () => (await shown().catch(() => undefined)) === 9, PATIENCE_MS)
    const probe = (): Promise<boolean> => fetch(`http://127.0.0.1:${opsPort}/readyz`).then(({ ok }) => ok)
    await until('the restarted master is ready', () => probe().catch(() => false), PATIENCE_MS)
  })

  itAsRoot('a folder that the account cannot write is named, and the exit code is 78', async () => {
    mkdirSync(join(folder, 'full', 'other'), { recursive: true })
    const failed = await startAnother({ SERVICE_RECORDING_PATH: join(folder, 'full') })
    expect(failed.lastLines.join('\n')).toMatch(/^SERVICE_RECORDING_PATH: the folder ".*full" cannot be written by/m)
    expect(await failed.exited).toBe(78)
  })

  itAsRoot('an account that does not exist is named, and the exit code is 78', async () => {
    const failed = await startAnother({ SERVICE_RUN_AS: 'no-such-account' })
    expect(failed.lastLines).toEqual(['SERVICE_RUN_AS: there is no account "no-such-account"'])
    expect(await failed.exited).toBe(78)
  })
})

/** Starts a master that is expected to fail. */
async function startAnother(env: Record<string, string>): Promise<AppProcess> {
  const started = await startMaster({ name: 'failing', env: { ...stack.masters[0]?.env, ...env } })
  await started.exited
  return started
}

async function privilegedPorts(): Promise<number[]> {
  const found: number[] = []
  for (let port = 1023; found.length < 2 && port > 600; port -= 1) if (await isFree(port, '127.0.0.1')) found.push(port)
  return found
}
