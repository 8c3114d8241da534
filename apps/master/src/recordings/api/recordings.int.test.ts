/** @quiet It measures the delay of the event loop. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { budgetMs, loopLagMs, memoryOf, ServiceApi, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Client } from 'pg'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'
import { FakeMediaNode } from '../fixtures/fake-media-node.js'

jest.setTimeout(TEST_MS)

/** Limit of the event loop delay while a list is written, ms. The number of other answers shows shorter stalls. */
const MAX_LAG_MS = 500
let freeEdition: ServiceApi
let testbed: RecordingTestbed

beforeAll(async () => {
  testbed = await RecordingTestbed.open()
  await testbed.stack.addMaster({ SERVICE_EDITION: 'ce' })
  freeEdition = testbed.stack.apiOf(1)
})
afterAll(() => testbed.close())
afterEach(() => testbed.reset())

describe('a recording', () => {
  it('goes from started to ready, with the views, notifications and events of the contract', async () => {
    const { id, alice } = await testbed.createActiveSession()
    const answer = await testbed.start(id, { name: 'mine' })
    const common = { id, name: 'mine', object: 'recording', sessionId: id, mediaNode: 'fake_node' }
    const made = { outputMode: 'COMPOSED', hasAudio: true, hasVideo: true, resolution: '1280x720', frameRate: 25 }
    const unfinished = { size: 0, duration: 0, url: null, createdAt: expect.any(Number) }
    expect(answer).toMatchObject({ status: 200, body: { ...common, ...made, ...unfinished, status: 'started' } })
    expect((await testbed.stack.api.getSession(id)).recording).toBe(true)
    expect(await alice.waitFor('recordingStarted')).toEqual({ id, name: 'mine' })
    const late = await testbed.stack.api.createConnection(id, {})
    const bob = await testbed.stack.openSocket(late.token ?? '')
    expect((await bob.join()).snapshot.recordings).toEqual([{ id, name: 'mine' }])
    await bob.request('leave', {})

    const stopped = await testbed.stop(id)
    expect(stopped).toMatchObject({ status: 200, body: { ...common, ...unfinished, status: 'stopped' } })
    expect(await alice.waitFor('recordingStopped')).toMatchObject({ id, reason: 'recordingStoppedByServer' })
    await testbed.becomes(id, 'ready')
    const url = `${testbed.stack.masterUrl}/service/recordings/${id}/mine.mp4`
    const ready = await testbed.get(id)
    expect(ready).toMatchObject({ ...common, ...made, url, status: 'ready' })
    expect(ready.duration).toBeCloseTo(2, 0)
    const file = await fetch(url, { headers: { authorization: testbed.authorization } })
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, ready.size])

    await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
    const [first, , last] = testbed.events(id)
    const { createdAt } = ready
    const video = { resolution: '1280x720', frameRate: 25, recordingLayout: 'BEST_FIT', media_node_id: 'fake_node' }
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
    expect((await testbed.stack.api.getSession(id)).recording).toBe(false)
  })

  it('is created once when twenty starts are requested at once; the others get 409', async () => {
    const { id } = await testbed.createActiveSession()
    const answers = await Promise.all(Array.from({ length: 20 }, () => testbed.start(id)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(19).fill(409)])
    expect((await testbed.stop(id)).status).toBe(200)
    await testbed.becomes(id, 'ready')
    await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
  })

  it('is starting until bytes are in its file, and can be neither stopped nor deleted until then', async () => {
    const { id } = await testbed.createActiveSession()
    const { promise: started, resolve: finishStart } = Promise.withResolvers<void>()
    testbed.node.onStart = () => started
    const answer = testbed.start(id)
    await until('the recording is starting', async () => (await testbed.get(id)).status === 'starting')
    expect([(await testbed.stop(id)).status, (await testbed.stack.rest('DELETE', `/recordings/${id}`)).status]).toEqual(
      [406, 409],
    )
    finishStart()
    expect((await answer).status).toBe(200)
    expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(409)
    await testbed.stop(id)
    expect((await testbed.stop(id)).status).toBe(409)
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
    expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(404)
    expect((await testbed.stop(id)).status).toBe(404)
  })

  it('gets the lowest free id of its session', async () => {
    const { id } = await testbed.createActiveSession()
    const make = async (): Promise<unknown> => {
      const { body } = await testbed.start(id)
      const { id: made } = body as { id: string }
      await testbed.stop(made)
      await testbed.becomes(made, 'ready')
      return made
    }
    expect([await make(), await make(), await make()]).toEqual([id, `${id}~1`, `${id}~2`])
    await testbed.stack.rest('DELETE', `/recordings/${id}~1`)
    expect(await make()).toBe(`${id}~1`)
    const { body } = await testbed.stack.rest('GET', '/recordings')
    const ids = (body as { items: { id: string }[] }).items.map((each) => each.id)
    expect(ids.filter((each) => each.startsWith(id))).toEqual([id, `${id}~2`, `${id}~1`])
    expect((body as { count: number }).count).toBe(ids.length)
  })

  it('gets 503 when the media node has no slot, and leaves an event but no recording', async () => {
    const { id } = await testbed.createActiveSession()
    testbed.node.onStart = () => {
      throw new ServiceError('NO_CAPACITY', 'no slot')
    }
    const refused = await fetch(`${testbed.stack.masterUrl}/service/api/recordings/start`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: testbed.authorization,
      },
      body: JSON.stringify({ session: id }),
    })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    testbed.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no media from str_1')
    }
    expect(await testbed.start(id)).toMatchObject({
      status: 500,
      body: { message: 'Error starting recording: no media from str_1' },
    })
    await testbed.expectEvents(id, 'failed no slot', 'failed no media from str_1')
    expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    testbed.node.onStart = () => undefined
    expect((await testbed.start(id)).status).toBe(200)
    await testbed.stop(id)
  })

  it('is ready when the ce edition answers its stop', async () => {
    const { id } = await testbed.createActiveSession()
    expect(await freeEdition.request('POST', '/recordings/start', { session: id })).toMatchObject({ status: 200 })
    const { status, body } = await freeEdition.request('POST', `/recordings/stop/${id}`)
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'ready', url: expect.any(String) })])
    expect(body).not.toHaveProperty('mediaNode')
  })

  it('is ready when the ce edition answers its stop, also when a read fails meanwhile', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    testbed.node.ignoresStop = true
    const answer = freeEdition.request('POST', `/recordings/stop/${id}`)
    await testbed.becomes(id, 'stopped')
    const locker = new Client(testbed.stack.postgres.url)
    await locker.connect()
    try {
      await locker.query('BEGIN; LOCK TABLE recording IN ACCESS EXCLUSIVE MODE')
      await until('a read of the recording fails', async () => {
        // A transaction sees the activity of its first look until it clears it.
        await locker.query('SELECT pg_stat_clear_snapshot()')
        const { rowCount } = await locker.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
           WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT "RecordingEntity".%'`,
        )
        return rowCount !== 0
      })
    } finally {
      await locker.end()
    }
    await testbed.node.failRecorder(testbed.partOf(id))
    expect(await answer).toMatchObject({ status: 200, body: { id, status: 'ready' } })
  })

  it('contains every connection in the ce edition, which ignores record: false', async () => {
    const { id } = await testbed.stack.api.createSession()
    expect(await freeEdition.createConnection(id, { record: false })).toMatchObject({ record: true })
    expect(await testbed.stack.api.createConnection(id, { record: false })).toMatchObject({ record: false })
    const { content } = await freeEdition.listConnections(id)
    expect(content.map(({ record }) => record)).toEqual([true, false])
    await testbed.stack.api.deleteSession(id)
  })

  it('refuses a forced other media node with 400 and names the one that can record', async () => {
    const { id } = await testbed.createActiveSession()
    const other = await FakeMediaNode.start(testbed.stack.nats.url, 'other')
    const refused = await until('the master knows the other node', async () => {
      const answer = await testbed.start(id, { mediaNode: 'other' })
      return JSON.stringify(answer.body).includes('no media node with the id') ? undefined : answer
    })
    const text = 'mediaNode.id: media node other cannot record the session: only fake_node, which hosts it, can'
    expect(refused).toMatchObject({ status: 400, body: { message: text } })
    expect(refused.headers.get('retry-after')).toBeNull()
    expect((await testbed.start(id, { mediaNode: { id: 'fake_node' } })).status).toBe(200)
    await testbed.stop(id)
    const { id: preferring } = await testbed.createActiveSession({
      mediaNode: { id: 'fake_node' },
      defaultRecordingProperties: { mediaNode: { id: 'other' } },
    })
    expect(await testbed.start(preferring)).toMatchObject({ status: 200, body: { mediaNode: 'fake_node' } })
    await testbed.stop(preferring)
    await testbed.stack.api.updateMediaNode('other', { status: 'waiting-idle-to-terminate' })
    expect(await testbed.start(id, { mediaNode: 'other' })).toMatchObject({ status: 400, body: { message: text } })
    await other.stop()
  })

  it('may name the media node of its session while that drains; new sessions may not', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.stack.api.updateMediaNode('fake_node', { status: 'waiting-idle-to-terminate' })
    const draining = 'media node fake_node is waiting-idle-to-terminate: it takes no new sessions'
    const create = (body: object) => testbed.stack.rest('POST', '/sessions', body)
    expect(await create({ mediaNode: { id: 'fake_node' } })).toMatchObject({
      status: 400,
      body: { message: `mediaNode.id: ${draining}` },
    })
    expect(await create({ defaultRecordingProperties: { mediaNode: { id: 'unknown' } } })).toMatchObject({
      status: 400,
      body: { message: 'defaultRecordingProperties.mediaNode: no media node with the id unknown' },
    })
    expect(await testbed.start(id, { mediaNode: 'fake_node' })).toMatchObject({ status: 200 })
    await testbed.stack.api.updateMediaNode('fake_node', { status: 'running' })
    await testbed.stop(id)
  })
})

describe('the list of recordings', () => {
  it('with 50 000 entries is answered in bounded memory, while other requests are answered', async () => {
    await testbed.stack.postgres.query(`
      INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, is_automatic,
                             size, duration, file, media_node_id)
      SELECT 'old_' || n, 'old_' || n, 'old_' || n || '_1', 'ready', n, jsonb_build_object('name', 'take', 'hasAudio',
             true, 'hasVideo', true, 'outputMode', 'COMPOSED', 'recordingLayout', 'BEST_FIT', 'resolution', '1280x720',
             'frameRate', 25), false, 1000, 10, 'take.mp4', 'fake_node' FROM generate_series(1, 50000) AS n`)
    const [master] = testbed.stack.masters
    if (!master) throw new Error('there is no master')
    const { pid } = master
    const read = async (): Promise<{ bytes: number; last: string }> => {
      const { body, status } = await fetch(`${testbed.stack.masterUrl}/service/api/recordings`, {
        headers: { authorization: testbed.authorization },
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
    // Warm up: every answer leaves the same garbage for the collector.
    await read()
    const before = memoryOf(pid)
    const state = { isOver: false }
    const others = (async () => {
      let [most, answers] = [0, 0]
      while (!state.isOver) {
        const from = performance.now()
        expect((await testbed.stack.rest('GET', '/recordings/old_1')).status).toBe(200)
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
      `${bytes} bytes, ${((memoryOf(pid) - before) / 1e6).toFixed(1)} MB more, other requests took up to ${most | 0} ms, loop ${lag | 0} ms`,
    )
    expect(bytes).toBeGreaterThan(15_000_000)
    expect(Number(/"count":(\d+)}$/.exec(last)?.[1])).toBeGreaterThanOrEqual(50_000)
    expect(memoryOf(pid) - before).toBeLessThan(150_000_000)
    // They were answered between the pages.
    expect(answers).toBeGreaterThan(10)
    expect(lag).toBeLessThan(budgetMs(MAX_LAG_MS))
  })
})

describe('a part that was lost with its media node', () => {
  it('is waited for one day; after that only the finished file of its recording is kept', async () => {
    const { stack } = testbed
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
      // A file of its second part could not be read.
      const record = { uniqueSessionId: id, createdAt: 1, status: 'ready', parts: [1, 2], leftOut: [2], file: 'a.mp4' }
      const facts = { size: 1, duration: 1, hasAudio: true, hasVideo: true }
      await writeFile(join(stack.recordingsFolder, id, `.recording.${id}`), JSON.stringify({ ...record, ...facts }))
    }
    // A new leader runs the job at once. Any of them may be the leader.
    for (const master of stack.masters) {
      master.kill('SIGKILL')
      await master.exited
      await stack.revive(master)
    }
    const isSpent = async (id: string): Promise<boolean> => (await readdir(folderOf(id))).join() === '2'
    await until('the old part is abandoned', () => isSpent('long_ago'), 30_000)
    expect(await readdir(folderOf('today'))).toEqual(['1', '2'])
    const kept = await stack.postgres.query(`SELECT recording_id FROM recording_part WHERE node_id = 'gone'`)
    expect(kept).toEqual([{ recording_id: 'today' }])
  })
})
