import { execFileSync } from 'node:child_process'
import { chownSync, readdirSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { FaultRig, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { SmallDisk } from '../fixtures/small-disk.js'

jest.setTimeout(120_000)

const disk = SmallDisk.make(4)
const withDisk = disk ? it : it.skip
let rig: FaultRig
beforeAll(async () => {
  rig = await FaultRig.open({ nodes: 1, ownPostgres: true, masterEnv: { SERVICE_CDR: 'true' } })
})
afterAll(async () => {
  await rig.close()
  disk?.remove()
})

const create = async (): Promise<number> => (await rig.stack.rest('POST', '/sessions', {})).status

/** Moves tables to a tablespace. */
async function moveTables(to: string, ...tables: string[]): Promise<void> {
  for (const table of tables) await rig.stack.postgres.query(`ALTER TABLE "${table}" SET TABLESPACE ${to}`)
}

describe('exhausted resources', () => {
  withDisk('of the disk of Postgres: writes get 503 without partial effects, and reads work', () =>
    rig.run('full disk', async ({ figure }) => {
      const { postgres, api } = rig.stack
      const path = disk?.path ?? ''
      const { uid, gid } = statSync(postgres.server?.dataDir ?? '')
      chownSync(path, uid, gid)
      await postgres.query(`CREATE TABLESPACE small LOCATION '${path}'`)
      await moveTables('small', 'session', 'outbox')
      const { id } = await api.createSession()
      disk?.fill()
      const answers: number[] = []
      await until('the disk is full', async () => answers[answers.push(await create()) - 1] !== 200)
      expect(answers.at(-1)).toBe(503)
      const created = answers.length
      figure('sessions before the disk was full', created)
      expect((await api.listSessions()).numberOfElements).toBe(created)
      expect((await api.getSession(id)).id).toBe(id)
      disk?.empty()
      await until('writes work again', async () => (await create()) === 200)
      await moveTables('pg_default', 'session', 'outbox')
      await postgres.query('DROP TABLESPACE small')
    }),
  )

  it('of file descriptors: existing sessions are not affected, and new connections work after some have closed', () =>
    rig.run('no descriptors', async ({ figure, mark, since }) => {
      const { pid } = rig.master()
      const { id } = await rig.stack.api.createSession()
      const alice = await rig.stack.join(id)
      const open = (): number => readdirSync(`/proc/${pid}/fd`).length
      const prlimit = (...args: string[]): string =>
        execFileSync('prlimit', ['--pid', String(pid), ...args], { encoding: 'utf8' })
      const limit = (count: string): string => prlimit(`--nofile=${count}:`)
      const usual = prlimit('--nofile', '--output=SOFT', '--noheadings').trim()
      const before = open()
      limit(String(before + 8))
      const { hostname, port } = new URL(rig.stack.masterUrl)
      const crowd: Socket[] = []
      await until('a connection is refused', () => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined)
        crowd.push(socket)
        return crowd.some(({ closed }) => closed)
      })
      figure('connections accepted', open() - before)
      await alice.request('signal', { type: 'news', data: 'still here' })
      await alice.waitFor('signal')
      for (const socket of crowd) socket.destroy()
      mark()
      await until('requests are served', () =>
        create().then(
          (status) => status === 200,
          () => false,
        ),
      )
      figure('served again after ms', since())
      limit(usual)
      expect(alice.isOpen).toBe(true)
      await rig.stack.api.deleteSession(id)
      await alice.closed
    }))
})
