import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import {
  type AppProcess,
  type Env,
  FaultRig,
  freePorts,
  ServiceApi,
  startMaster,
  statusOf,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(180_000)

/** STARTS=20 for a long run. */
const STARTS = Number(process.env.STARTS ?? 3)

const MAIN = join(import.meta.dirname, '../../main.js')

let rig: FaultRig
beforeAll(async () => {
  rig = await FaultRig.open({ nodes: 2, masters: 2, ownPostgres: true })
})
afterAll(() => rig.close())

const TABLES = ['session', 'connection', 'stream', 'subscription'] as const
const rows = async (where = ''): Promise<number> => {
  const counts = TABLES.map((table) => rig.stack.postgres.query(`SELECT count(*)::int AS n FROM "${table}" ${where}`))
  return (await Promise.all(counts)).flat().reduce((sum, { n }) => sum + Number(n), 0)
}

describe('a restart of all processes after kill -9', () => {
  it('evicts participants that do not resume, ends their sessions, and keeps unused sessions', () =>
    rig.run('cold start', async ({ figure, mark, since, exempt }) => {
      const { stack } = rig
      const waiting = await stack.api.createSession({ customSessionId: 'waiting' })
      const lived = await Promise.all([0, 1, 2].map(() => stack.api.createSession()))
      const clients = await Promise.all(lived.flatMap(({ id }) => [stack.join(id), stack.join(id)]))
      expect((await stack.rest('GET', '/sessions')).status).toBe(200)

      const startAll = await rig.killAll(exempt)
      await Promise.all(clients.map(({ closed }) => closed))
      await startAll()
      mark()
      await until('only the unused session is left', async () => (await rows()) === 1, 60_000)
      figure('all evicted after ms', since())
      expect((await stack.api.listSessions()).content.map(({ id }) => id)).toEqual([waiting.id])
      const rooms = await Promise.all(stack.nodes.map(roomsOf))
      expect(rooms).toEqual([0, 0])
      const again = await stack.join(waiting.id)
      await stack.api.deleteSession(waiting.id)
      await again.closed
    }))
})

const roomsOf = async ({ opsUrl }: AppProcess): Promise<number> => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(/^session_service_media_rooms (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
}

describe('starting masters', () => {
  it(`migrate an empty database once when three start at the same time, ${STARTS} times`, () =>
    rig.run('migrating masters', async ({ figure, mark, since }) => {
      const times: number[] = []
      for (let round = 0; round < STARTS; round++) {
        const { url, query } = await rig.postgres.emptyDatabase(`empty_${round}`)
        mark()
        const masters = await Promise.all([1, 2, 3].map((n) => startMasterOn(url, `fresh${n}`)))
        await Promise.all(masters.map(({ ready }) => ready))
        times.push(since())
        const [{ twice } = {}] = await query('SELECT count(*) - count(DISTINCT name) AS twice FROM migrations')
        expect(Number(twice)).toBe(0)
        await Promise.all(masters.map((master) => master.stop()))
        expect(await Promise.all(masters.map(({ exited }) => exited))).toEqual([0, 0, 0])
      }
      figure('all ready after ms', times.join(', '))
    }))

  it('refuse to serve with an error on a newer schema', () =>
    rig.run('newer schema', async ({ figure, mark, since }) => {
      const { postgres } = rig.stack
      await postgres.query(`INSERT INTO migrations ("timestamp", name) VALUES (9999999999999, 'Tomorrow9999999999999')`)
      try {
        mark()
        const master = await startMasterOn(postgres.url, 'older')
        expect(await master.exited).toBe(1)
        figure('refused after ms', since())
        expect(master.lastLines.join('\n')).toContain('unknown migration Tomorrow9999999999999')
        expect(await statusOf(`${master.opsUrl}/readyz`)).toBeUndefined()
      } finally {
        await postgres.query(`DELETE FROM migrations WHERE name = 'Tomorrow9999999999999'`)
      }
    }))
})

describe('a master on a schema that a later version migrated', () => {
  it('serves if the schema is compatible with it, so that a release can be rolled back', () =>
    rig.run('compatible schema', async () => {
      const { postgres } = rig.stack
      await postgres.query(`ALTER TABLE session ADD COLUMN of_tomorrow text NOT NULL DEFAULT 'x'`)
      await postgres.query(`INSERT INTO migrations ("timestamp", name) VALUES (9999999999999, 'Tomorrow9999999999999')`)
      const [{ record } = {}] = await postgres.query(`SELECT obj_description('migrations'::regclass) AS record`)
      const { oldestServer } = JSON.parse(String(record)) as { oldestServer: number }
      await postgres.query(`COMMENT ON TABLE migrations IS '{"schema":9999999999999,"oldestServer":${oldestServer}}'`)
      try {
        const master = await startMasterOn(postgres.url, 'rolled-back')
        await master.ready
        expect(master.lastLines.join('\n')).toContain('a later version migrated the database: Tomorrow9999999999999')
        const { SERVICE_HOST, SERVICE_PORT, SERVICE_SECRET } = master.env
        const api = new ServiceApi(`http://${SERVICE_HOST}:${SERVICE_PORT}`, SERVICE_SECRET ?? '')
        const { id } = await api.createSession()
        await api.deleteSession(id)
        await master.stop()
      } finally {
        await postgres.query(`DELETE FROM migrations WHERE name = 'Tomorrow9999999999999'`)
        await postgres.query(`COMMENT ON TABLE migrations IS '${String(record)}'`)
        await postgres.query('ALTER TABLE session DROP COLUMN of_tomorrow')
      }
    }))
})

describe('the command migrate', () => {
  it('migrates an empty database once when three run at the same time, while a master waits for them', () =>
    rig.run('migrate commands', async () => {
      const { url, query } = await rig.postgres.emptyDatabase('by_command')
      const master = await startMasterOn(url, 'waiting', { SERVICE_MIGRATE_AT_START: 'false' })
      await until('the master waits', () => master.lastLines.some((line) => line.includes('waiting for the command')))
      expect(await statusOf(`${master.opsUrl}/readyz`)).toBe(503)
      expect(await statusOf(`${master.opsUrl}/healthz`)).toBe(200)
      expect(await query(`SELECT to_regclass('migrations') AS present`)).toEqual([{ present: null }])

      expect(await Promise.all([1, 2, 3].map(() => migrateBy(url)))).toEqual([0, 0, 0])
      const [{ twice } = {}] = await query('SELECT count(*) - count(DISTINCT name) AS twice FROM migrations')
      expect(Number(twice)).toBe(0)
      await master.ready
      await master.stop()
    }))

  it('exits with 78 when its configuration is invalid, and with 64 in place of another command', async () => {
    expect(await migrateBy('mysql://localhost/x')).toBe(78)
    expect(await migrateBy(rig.stack.postgres.url, 'migrations')).toBe(64)
  })
})

/** Runs the command with nothing but the database; resolves with its exit code. */
async function migrateBy(databaseUrl: string, command = 'migrate'): Promise<number | null> {
  const child = spawn(process.execPath, [MAIN, command], {
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
    stdio: 'ignore',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** Starts another master on the given database. */
async function startMasterOn(databaseUrl: string, name: string, more: Env = {}): Promise<AppProcess> {
  const [port, opsPort] = await freePorts(2)
  const own = { DATABASE_URL: databaseUrl, SERVICE_PORT: String(port), SERVICE_OPS_PORT: String(opsPort) }
  return startMaster({ name, env: { ...rig.master().env, ...own, ...more } })
}
