/** @quiet @light It measures how soon recording continues. */
import { readFileSync } from 'node:fs'
import { type AppProcess, descendantsOf, type FaultRig, isAlive, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { COMPOSED, INDIVIDUAL, type Recordable, recordersOf, type Recordings } from '../fixtures/recorded.js'
import { RecordingCluster } from '../fixtures/recording-cluster.js'

jest.setTimeout(180_000)

const ENDED = ['started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer']

let cluster: RecordingCluster
let rig: FaultRig
let recordings: Recordings
beforeAll(async () => {
  cluster = await RecordingCluster.open()
  ;({ rig, recordings } = cluster)
})
afterEach(() => cluster.clear())
afterAll(() => cluster.close())

const node = (id: string): AppProcess => cluster.node(id)
const recorded = (...wanted: Parameters<RecordingCluster['recorded']>): Promise<Recordable> =>
  cluster.recorded(...wanted)
const expectNothingLeft = (): Promise<void> => cluster.expectNothingLeft()

/** Expects a file with at least this duration. */
async function expectReady(id: string, seconds: number): Promise<number> {
  const ready = await recordings.becomes(id, 'ready')
  expect(ready.duration).toBeGreaterThan(seconds)
  const file = await recordings.fetch(ready)
  expect([file.status, (await file.arrayBuffer()).byteLength > 1_000]).toEqual([200, true])
  return ready.duration
}

/** Tokens are neither in command lines nor in the environment of recorders; the rig checks the logs. */
function expectNoSecret(programs: readonly number[]): void {
  const tokens = cluster.present.map(({ alice }) => new URL(alice.url).searchParams.get('token'))
  const processes = [...rig.stack.masters, ...rig.stack.nodes].map(({ pid }) => pid)
  const lines = [
    ...[...processes, ...programs].map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
    ...programs.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')),
  ]
  expect(lines.every((line) => line.length > 0)).toBe(true)
  for (const secret of [rig.stack.secret, ...tokens]) {
    expect(lines.filter((line) => line.includes(secret ?? 'no token'))).toEqual([])
  }
}

describe('kill -9 during recordings', () => {
  it('of the recorders: new ones start, the sessions are not affected, and the parts become one file', () =>
    rig.run('dead recorders', async ({ figure, mark, since }) => {
      const both = [await recorded(INDIVIDUAL, 'media_one', true), await recorded(COMPOSED)]
      await recordings.lasts(2.5)
      const programs = recordersOf(node('media_one'))
      expect(programs).toHaveLength(2)
      expectNoSecret(programs.map(({ pid }) => pid))
      mark()
      for (const { pid } of programs) process.kill(pid, 'SIGKILL')
      await Promise.all(both.map(({ id }) => recordings.partStarts(id, 2)))
      figure('recorded again after ms', since())
      await recordings.lasts(2)
      for (const { id, alice } of both) {
        expect(alice.mediaRecoveries).toEqual([])
        expect((await recordings.stop(id)).status).toBe(200)
        figure('seconds in the file', await expectReady(id, 3))
        await recordings.expectEvents(id, ...ENDED)
      }
      await expectNothingLeft()
    }))

  it('of the process of a media node: its programs end as well, and its part is uploaded', () =>
    rig.run('dead node', async ({ figure, mark, since, exempt }) => {
      const both = [await recorded(INDIVIDUAL, 'media_one', true), await recorded(COMPOSED)]
      await recordings.lasts(2.5)
      const victim = node('media_one')
      const programs = descendantsOf(victim.pid)
      exempt(victim)
      mark()
      victim.kill('SIGKILL')
      await until('its programs have ended', () => programs.every(({ pid }) => !isAlive(pid)), 5_000)
      figure('no program left after ms', since())
      await Promise.all(both.map(({ id }) => recordings.partStarts(id, 2)))
      figure('recorded elsewhere after ms', since())
      await rig.stack.revive(victim)
      await until('its recorded parts are uploaded', async () => {
        const [first, other] = await Promise.all(both.map(({ id }) => recordings.parts(id)))
        return first?.[0]?.files === 1 && other?.[0]?.files === 1
      })
      await recordings.lasts(1.5)
      for (const { id } of both) {
        await recordings.stop(id)
        expect((await recordings.becomes(id, 'ready')).mediaNode).toBe('media_two')
        figure('seconds in the file', await expectReady(id, 2.5))
        await recordings.expectEvents(id, ...ENDED)
      }
      await expectNothingLeft()
    }))

  it('of a mediasoup worker: the recording continues with another worker', () =>
    rig.run('dead worker', async ({ figure, mark, since }) => {
      const { id, alice } = await recorded(INDIVIDUAL)
      await recordings.lasts(1.5)
      mark()
      for (const { pid, command } of descendantsOf(node('media_one').pid)) {
        if (command.includes('mediasoup-worker')) process.kill(pid, 'SIGKILL')
      }
      await recordings.partStarts(id, 2)
      figure('recorded again after ms', since())
      await until('alice has rejoined', () => alice.mediaRecoveries.at(-1)?.kind === 'reconnected', 40_000)
      expect(alice.mediaRecoveries.map(({ kind }) => kind)).toEqual(['reconnecting', 'reconnected'])
      await recordings.lasts(1.5)
      await recordings.stop(id)
      await expectReady(id, 2)
      await recordings.expectEvents(id, ...ENDED)
      await expectNothingLeft()
    }))

  it('of the master that started a recording: it continues, and another master stops and finishes it', () =>
    rig.run('dead master', async ({ exempt }) => {
      const { id, alice } = await recorded(INDIVIDUAL)
      const master = rig.master(0)
      exempt(master)
      master.kill('SIGKILL')
      await master.exited
      // She can resume at another master within the window.
      await alice.resume(rig.stack.atMaster(1, alice.url))
      const authorization = rig.stack.authorization
      const call = (method: string, path: string) =>
        fetch(`${rig.stack.masterUrls[1]}/service/api/recordings/${path}`, { method, headers: { authorization } })
      expect((await call('POST', 'start')).status).toBe(400)
      await recordings.lasts(1)
      expect((await call('POST', `stop/${id}`)).status).toBe(200)
      const isReady = async (): Promise<boolean> =>
        ((await (await call('GET', id)).json()) as { status: string }).status === 'ready'
      await until('the other master has finished it', isReady, 30_000)
      await rig.stack.revive(master)
      await expectReady(id, 1)
      await recordings.expectEvents(id, ...ENDED)
      expect((await recordings.parts(id)).length).toBe(1)
      await expectNothingLeft()
    }))
})

describe('a media node that shuts down', () => {
  it('waits for its recordings, and exits when they are uploaded', () =>
    rig.run('shutdown', async ({ exempt }) => {
      const { id, alice } = await recorded(INDIVIDUAL)
      const leaving = node('media_one')
      exempt(leaving)
      leaving.kill('SIGTERM')
      await until('it drains', async () => {
        const { status, remaining } = await rig.stack.api.getMediaNode('media_one')
        return status === 'waiting-idle-to-terminate' && remaining?.sessions === 1
      })
      await recordings.lasts(1.5)
      expect((await recordings.parts(id)).map(({ isEnded }) => isEnded)).toEqual([false])
      await alice.leave()
      expect((await recordings.stop(id)).status).toBe(200)
      expect(await leaving.exited).toBe(0)
      await expectReady(id, 1)
      await recordings.expectEvents(id, ...ENDED)
      await rig.stack.revive(leaving)
      await expectNothingLeft()
    }))

  it('ends its part in order at a second SIGTERM, and another node continues', () =>
    rig.run('second SIGTERM', async ({ figure, mark, since, exempt }) => {
      const { id } = await recorded(INDIVIDUAL)
      await recordings.lasts(1.5)
      const leaving = node('media_one')
      exempt(leaving)
      leaving.kill('SIGTERM')
      await until('it drains', async () => {
        const { status } = await rig.stack.api.getMediaNode('media_one')
        return status === 'waiting-idle-to-terminate'
      })
      mark()
      leaving.kill('SIGTERM')
      expect(await leaving.exited).toBe(0)
      figure('exited after ms', since())
      await recordings.partStarts(id, 2)
      await recordings.lasts(1.5)
      await recordings.stop(id)
      await expectReady(id, 2)
      const parts = await recordings.parts(id)
      expect(parts.map(({ files }) => files)).toEqual([1, 1])
      await recordings.expectEvents(id, ...ENDED)
      await rig.stack.revive(leaving)
      await expectNothingLeft()
    }))
})

describe('a recorder that hangs', () => {
  it('is killed and replaced, and the parts of both become one file', () =>
    rig.run('hanging recorder', async ({ figure, mark, since }) => {
      const both = [await recorded(INDIVIDUAL, 'media_one', true), await recorded(COMPOSED)]
      await recordings.lasts(2.5)
      const programs = recordersOf(node('media_one'))
      expect(programs).toHaveLength(2)
      mark()
      for (const { pid } of programs) process.kill(pid, 'SIGSTOP')
      await Promise.all(both.map(({ id }) => recordings.partStarts(id, 2)))
      figure('recorded again after ms', since())
      expect(since()).toBeLessThan(30_000)
      expect(programs.filter(({ pid }) => isAlive(pid))).toEqual([])
      const text = await (await fetch(`${node('media_one').opsUrl}/metrics`)).text()
      for (const program of ['compositor', 'stream_recorder'])
        expect(text).toContain(`job_stalls_total{program="${program}"} 1`)
      await recordings.lasts(2)
      for (const { id, alice } of both) {
        expect(alice.mediaRecoveries).toEqual([])
        expect((await recordings.stop(id)).status).toBe(200)
        figure('seconds in the file', await expectReady(id, 3))
        await recordings.expectEvents(id, ...ENDED)
      }
      await expectNothingLeft()
    }))

  it('ends with a stop of the recording, which keeps the recorded media', () =>
    rig.run('stop of a hanging recorder', async ({ figure, mark, since }) => {
      const both = [await recorded(INDIVIDUAL, 'media_one', true), await recorded(COMPOSED)]
      await recordings.lasts(2.5)
      const programs = recordersOf(node('media_one'))
      for (const { pid } of programs) process.kill(pid, 'SIGSTOP')
      mark()
      await Promise.all(both.map(({ id }) => recordings.stop(id)))
      for (const { id } of both) await expectReady(id, 0.5)
      figure('ready after ms', since())
      expect(programs.filter(({ pid }) => isAlive(pid))).toEqual([])
      for (const { id } of both) await recordings.expectEvents(id, ...ENDED)
      await expectNothingLeft()
    }))
})

describe('a restart of all processes after kill -9', () => {
  it('finishes all recordings, with their events', () =>
    rig.run('cold start', async ({ figure, mark, since, exempt }) => {
      const both = [await recorded(INDIVIDUAL, 'media_one', true), await recorded(COMPOSED, 'media_two')]
      await recordings.lasts(2.5)
      const startAll = await rig.killAll(exempt)
      await startAll()
      mark()
      await Promise.all(cluster.present.map(({ alice }) => alice.close()))
      for (const { id } of both) await expectReady(id, 0.5)
      figure('all saved after ms', since())
      for (const { id } of both) {
        await recordings.expectStatuses(id, ['started', 'stopped', 'ready'])
        expect(recordings.eventsOf(id)[1]).toMatch(/^stopped (automaticStop|sessionClosedByServer)$/)
      }
      await expectNothingLeft()
    }))
})
