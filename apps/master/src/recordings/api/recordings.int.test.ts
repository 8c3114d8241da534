/** @quiet It measures the delay of the event loop. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { budgetMs, loopLagMs, memoryOf, ServiceApi, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'
import { FakeMediaNode } from '../fixtures/fake-media-node.js'

jest.setTimeout(TEST_MS)

/** What the event loop may be blocked while a list is written, ms; the number of other answers shows shorter stalls. */
const LAG_MS = 500
let free: ServiceApi
let desk: RecordingTestbed

beforeAll(async () => {
  desk = await RecordingTestbed.open()
  await desk.stack.addMaster({ SERVICE_EDITION: 'ce' })
  free = new ServiceApi(desk.stack.masterUrls[1] ?? '', desk.stack.secret)
})
afterAll(() => desk.close())
afterEach(() => desk.clear())

describe('a recording', () => {
  it('D24: goes from started to ready; everybody is told what the contract says', async () => {
    const { id, alice } = await desk.busy()
    const answer = await desk.start(id, { name: 'mine' })
    const common = { id, name: 'mine', object: 'recording', sessionId: id, mediaNode: 'stand_in' }
    const made = { outputMode: 'COMPOSED', hasAudio: true, hasVideo: true, resolution: '1280x720', frameRate: 25 }
    const unfinished = { size: 0, duration: 0, url: null, createdAt: expect.any(Number) }
    expect(answer).toMatchObject({ status: 200, body: { ...common, ...made, ...unfinished, status: 'started' } })
    expect((await desk.stack.api.getSession(id)).recording).toBe(true)
    expect(await alice.waitFor('recordingStarted')).toEqual({ id, name: 'mine' })
    const late = await desk.stack.api.createConnection(id, {})
    const bob = await desk.stack.openSocket(late.token ?? '')
    expect((await bob.join()).snapshot.recordings).toEqual([{ id, name: 'mine' }])
    await bob.request('leave', {})

    const stopped = await desk.stop(id)
    expect(stopped).toMatchObject({ status: 200, body: { ...common, ...unfinished, status: 'stopped' } })
    expect(await alice.waitFor('recordingStopped')).toMatchObject({ id, reason: 'recordingStoppedByServer' })
    await desk.becomes(id, 'ready')
    const url = `${desk.stack.masterUrl}/service/recordings/${id}/mine.mp4`
    const ready = await desk.get(id)
    expect(ready).toMatchObject({ ...common, ...made, url, status: 'ready' })
    expect(ready.duration).toBeCloseTo(2, 0)
    const file = await fetch(url, { headers: { authorization: desk.authorization } })
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, ready.size])

    await desk.toldOf(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
    const [first, , last] = desk.told(id)
    const { createdAt } = ready
    const video = { resolution: '1280x720', frameRate: 25, recordingLayout: 'BEST_FIT', media_node_id: 'stand_in' }
    expect(first).toEqual({
      event: 'recordingStatusChanged',
      sessionId: id,
      uniqueSessionId: expect.stringContaining(`${id}_`),
      timestamp: expect.any(Number),
      startTime: createdAt,
      id,
      name: 'mine',
      outputMode: 'COMPOSED',
      hasAudio: true,
      hasVideo: true,
      ...video,
      size: 0,
      duration: 0,
      status: 'started',
    })
    expect(first?.timestamp).toBe(createdAt)
    expect(last).toMatchObject({ size: ready.size, duration: ready.duration, startTime: createdAt })
    expect((await desk.stack.api.getSession(id)).recording).toBe(false)
  })

  it('D2: is one of twenty that are asked for at once; the others are refused', async () => {
    const { id } = await desk.busy()
    const answers = await Promise.all(Array.from({ length: 20 }, () => desk.start(id)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(19).fill(409)])
    expect((await desk.stop(id)).status).toBe(200)
    await desk.becomes(id, 'ready')
    await desk.toldOf(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
  })

  it('D3, D4, D5, D24: is starting until bytes are in its file: it can neither be stopped nor deleted then', async () => {
    const { id } = await desk.busy()
    const { promise: untilToldTo, resolve: goOn } = Promise.withResolvers<void>()
    desk.node.onStart = () => untilToldTo
    const answer = desk.start(id)
    await until('it is starting', async () => (await desk.get(id)).status === 'starting')
    expect([(await desk.stop(id)).status, (await desk.stack.rest('DELETE', `/recordings/${id}`)).status]).toEqual([
      406, 409,
    ])
    goOn()
    expect((await answer).status).toBe(200)
    expect((await desk.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(409)
    await desk.stop(id)
    expect((await desk.stop(id)).status).toBe(409)
    await desk.becomes(id, 'ready')
    expect((await desk.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
    expect((await desk.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(404)
    expect((await desk.stop(id)).status).toBe(404)
  })

  it('has the lowest id that is free among those kept', async () => {
    const { id } = await desk.busy()
    const make = async (): Promise<unknown> => {
      const { body } = await desk.start(id)
      const { id: made } = body as { id: string }
      await desk.stop(made)
      await desk.becomes(made, 'ready')
      return made
    }
    expect([await make(), await make(), await make()]).toEqual([id, `${id}~1`, `${id}~2`])
    await desk.stack.rest('DELETE', `/recordings/${id}~1`)
    expect(await make()).toBe(`${id}~1`)
    const { body } = await desk.stack.rest('GET', '/recordings')
    const ids = (body as { items: { id: string }[] }).items.map((each) => each.id)
    expect(ids.filter((each) => each.startsWith(id))).toEqual([id, `${id}~2`, `${id}~1`])
    expect((body as { count: number }).count).toBe(ids.length)
  })

  it('D16: that a node has no slot for is refused with 503, and leaves no trace but an event', async () => {
    const { id } = await desk.busy()
    desk.node.onStart = () => {
      throw new ServiceError('NO_CAPACITY', 'no slot')
    }
    const refused = await fetch(`${desk.stack.masterUrl}/service/api/recordings/start`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: desk.authorization,
      },
      body: JSON.stringify({ session: id }),
    })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    desk.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no media from str_1')
    }
    expect(await desk.start(id)).toMatchObject({
      status: 500,
      body: { message: 'Error starting recording: no media from str_1' },
    })
    await desk.toldOf(id, 'failed no slot', 'failed no media from str_1')
    expect((await desk.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    desk.node.onStart = () => undefined
    expect((await desk.start(id)).status).toBe(200)
    await desk.stop(id)
  })

  it('is ready when the free edition answers its stop', async () => {
    const { id } = await desk.busy()
    expect(await free.request('POST', '/recordings/start', { session: id })).toMatchObject({ status: 200 })
    const { status, body } = await free.request('POST', `/recordings/stop/${id}`)
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'ready', url: expect.any(String) })])
    expect(body).not.toHaveProperty('mediaNode')
  })

  it('has every connection of the free edition in it, which ignores record: false', async () => {
    const { id } = await desk.stack.api.createSession()
    expect(await free.createConnection(id, { record: false })).toMatchObject({ record: true })
    expect(await desk.stack.api.createConnection(id, { record: false })).toMatchObject({ record: false })
    const { content } = await free.listConnections(id)
    expect(content.map(({ record }) => record)).toEqual([true, false])
    await desk.stack.api.deleteSession(id)
  })

  it('refuses a forced other media node with 400 and names the one that can record', async () => {
    const { id } = await desk.busy()
    const other = await FakeMediaNode.start(desk.stack.nats.url, 'other')
    const refused = await until('the master knows the other node', async () => {
      const answer = await desk.start(id, { mediaNode: 'other' })
      return JSON.stringify(answer.body).includes('no media node with the id') ? undefined : answer
    })
    expect(refused).toMatchObject({
      status: 400,
      body: { message: 'mediaNode.id: media node other cannot record the session: only stand_in, which hosts it, can' },
    })
    expect(refused.headers.get('retry-after')).toBeNull()
    expect((await desk.start(id, { mediaNode: { id: 'stand_in' } })).status).toBe(200)
    await desk.stop(id)
    await other.stop()
  })
})

describe('a recorder that dies', () => {
  it('is followed by another; the parts become one file', async () => {
    const { id } = await desk.busy()
    await desk.start(id)
    await desk.node.recorderDies(desk.partOf(id))
    await until('another records', () => desk.node.jobs.get(desk.partOf(id))?.state === 'recording')
    await desk.toldOf(id, 'started -')
    await desk.stop(id)
    await desk.becomes(id, 'ready')
    expect((await desk.get(id)).duration).toBeCloseTo(4, 0)
  })

  it('again and again is given up, with what there is', async () => {
    const { id } = await desk.busy()
    await desk.start(id)
    const first = desk.partOf(id)
    desk.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no recorder')
    }
    await desk.node.recorderDies(first)
    await desk.becomes(id, 'ready')
    await desk.toldOf(id, 'started -', 'stopped mediaServerDisconnect', 'ready mediaServerDisconnect')
    expect((await desk.stack.api.getSession(id)).recording).toBe(false)
  })

  it('without having written anything leaves a failed recording that says why', async () => {
    const { id } = await desk.busy()
    await desk.start(id)
    const first = desk.partOf(id)
    desk.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no recorder')
    }
    await desk.node.recorderDies(first, false)
    await desk.becomes(id, 'failed')
    await until('that is told', () => desk.told(id).at(-1)?.status === 'failed')
    expect(desk.told(id).at(-1)).toMatchObject({ reason: expect.stringContaining('the recorder died') })
    expect((await desk.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  })
})

describe('the list of recordings', () => {
  it('D23: of 50 000 is answered without the master growing by it, and without others waiting for it', async () => {
    await desk.stack.postgres.query(`
      INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, is_automatic,
                             size, duration, file, media_node_id)
      SELECT 'old_' || n, 'old_' || n, 'old_' || n || '_1', 'ready', n, jsonb_build_object('name', 'take', 'hasAudio',
             true, 'hasVideo', true, 'outputMode', 'COMPOSED', 'recordingLayout', 'BEST_FIT', 'resolution', '1280x720',
             'frameRate', 25), false, 1000, 10, 'take.mp4', 'stand_in' FROM generate_series(1, 50000) AS n`)
    const [master] = desk.stack.masters
    if (!master) throw new Error('there is no master')
    const { pid } = master
    const read = async (): Promise<{ bytes: number; last: string }> => {
      const { body, status } = await fetch(`${desk.stack.masterUrl}/service/api/recordings`, {
        headers: { authorization: desk.authorization },
      })
      expect(status).toBe(200)
      let [bytes, last] = [0, '']
      for await (const chunk of body ?? []) {
        bytes += (chunk as Uint8Array).length
        last = Buffer.from(chunk as Uint8Array)
          .toString()
          .slice(-40)
      }
      return { bytes, last }
    }
    // What one answer leaves for the collector, all leave.
    await read()
    const before = memoryOf(pid)
    const state = { isOver: false }
    const others = (async () => {
      let [most, answers] = [0, 0]
      while (!state.isOver) {
        const from = performance.now()
        expect((await desk.stack.rest('GET', '/recordings/old_1')).status).toBe(200)
        most = Math.max(most, performance.now() - from)
        answers++
      }
      return { most, answers }
    })()
    const { bytes, last } = await read()
    state.isOver = true
    const { most, answers } = await others
    const lag = await loopLagMs(master)
    console.info(
      `${bytes} bytes, ${((memoryOf(pid) - before) / 1e6).toFixed(1)} MB more, others waited ${most | 0} ms, loop ${lag | 0} ms`,
    )
    expect(bytes).toBeGreaterThan(15_000_000)
    expect(Number(/"count":(\d+)}$/.exec(last)?.[1])).toBeGreaterThanOrEqual(50_000)
    expect(memoryOf(pid) - before).toBeLessThan(150_000_000)
    // They were let in between all the time: page by page.
    expect(answers).toBeGreaterThan(10)
    expect(lag).toBeLessThan(budgetMs(LAG_MS))
  })
})

describe('a part that went with its node', () => {
  it('is waited for a day, and its recording needs no more room than its file after that', async () => {
    const { stack } = desk
    const folderOf = (id: string): string => join(stack.recordingsFolder, '.parts', id)
    for (const [id, hours] of [
      ['long_ago', 25],
      ['today', 23],
    ] as const) {
      await stack.postgres.query(
        `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
         VALUES ($1, $1, $1, 'ready', 1, '{}', 'gone')`,
        [id],
      )
      await stack.postgres.query(
        `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch, started_at, ended, ended_at)
         VALUES ($1, 'gone', 'boot', 1, 1, '{"files": [], "failure": "its media node was lost"}',
                 clock_timestamp() - $2 * interval '1 hour')`,
        [id, hours],
      )
      await mkdir(join(folderOf(id), '1'), { recursive: true })
      await mkdir(join(folderOf(id), '2'), { recursive: true })
      await mkdir(join(stack.recordingsFolder, id), { recursive: true })
      // Something of its second part could not be read.
      const record = { uniqueSessionId: id, createdAt: 1, status: 'ready', parts: [1, 2], leftOut: [2], file: 'a.mp4' }
      const facts = { size: 1, duration: 1, hasAudio: true, hasVideo: true }
      await writeFile(join(stack.recordingsFolder, id, `.recording.${id}`), JSON.stringify({ ...record, ...facts }))
    }
    // Whoever takes over the duties looks at once.
    const [first] = stack.masters
    if (!first) throw new Error('no master')
    first.kill('SIGKILL')
    await first.exited
    const isSpent = async (id: string): Promise<boolean> => (await readdir(folderOf(id))).join() === '2'
    await until('the old one is given up', () => isSpent('long_ago'), 30_000)
    expect(await readdir(folderOf('today'))).toEqual(['1', '2'])
    const kept = await stack.postgres.query(`SELECT recording_id FROM recording_part WHERE node_id = 'gone'`)
    expect(kept).toEqual([{ recording_id: 'today' }])
    await stack.revive(first)
  })
})
