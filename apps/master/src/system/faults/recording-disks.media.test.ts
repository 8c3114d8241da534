import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { startAllNodes } from '../fixtures/meeting.js'
import { COMPOSED, INDIVIDUAL, type Recordable, Recordings } from '../fixtures/recorded.js'
import { SmallDisk } from '../fixtures/small-disk.js'

jest.setTimeout(120_000)

const nodeDisk = SmallDisk.make(16)
const masterDisk = nodeDisk && SmallDisk.make(16)
const withDisks = masterDisk ? describe : describe.skip
let stack: Stack
let sink: EventSink
let recordings: Recordings
const present: Recordable[] = []

beforeAll(async () => {
  if (!nodeDisk || !masterDisk) return
  sink = await EventSink.open()
  stack = await startStack({
    nodes: 0,
    env: { SERVICE_RECORDING_PATH: masterDisk.path },
    masterEnv: { ...webhookEnv(sink), SERVICE_RECORDING: 'true', SERVICE_RECORDING_FREE_SPACE: '4' },
  })
  const own = { MEDIA_NODE_RECORDING_PATH: join(nodeDisk.path, 'jobs'), MEDIA_NODE_RECORDING_MIN_FREE: '4' }
  await stack.addNode({ MEDIA_NODE_ID: 'small', ...own })
  await stack.addNode({ MEDIA_NODE_ID: 'large' })
  await startAllNodes(stack)
  recordings = new Recordings({ ...stack, recordingsFolder: masterDisk.path }, sink)
})
afterAll(async () => {
  if (!nodeDisk || !masterDisk) return
  await stack.stop()
  await sink.close()
  nodeDisk.remove()
  masterDisk.remove()
})
afterEach(async () => {
  if (!nodeDisk || !masterDisk) return
  nodeDisk.isReadOnly = false
  masterDisk.isReadOnly = false
  nodeDisk.empty()
  masterDisk.empty()
  const { content } = await stack.api.listSessions()
  await Promise.all(content.map(({ id }) => stack.api.deleteSession(id)))
  await Promise.all(present.splice(0).map(({ alice }) => alice.close()))
})

async function session(where: string): Promise<Recordable> {
  const made = await recordings.session(where)
  present.push(made)
  return made
}
async function recorded(where: string, properties: object): Promise<Recordable> {
  const made = await session(where)
  expect(await recordings.start(made.id, properties)).toMatchObject({ status: 200 })
  return made
}
const expectNothingLeft = (): Promise<void> =>
  recordings.expectNothingLeft(stack.nodes.map(({ env }) => env.MEDIA_NODE_RECORDING_PATH ?? ''))
const refused = (message: RegExp) => ({ status: 503, body: { message: expect.stringMatching(message) } })

withDisks('the disk of a media node', () => {
  it('that becomes full ends its recordings and keeps their media; sessions and other nodes are not affected', async () => {
    const both = [await recorded('small', INDIVIDUAL), await recorded('small', COMPOSED)]
    const other = await recorded('large', INDIVIDUAL)
    await recordings.lasts(2)
    nodeDisk?.fill()
    for (const { id, alice } of both) {
      const ready = await recordings.becomes(id, 'ready')
      expect(ready.duration).toBeGreaterThan(1)
      expect((await recordings.fetch(ready)).status).toBe(200)
      await recordings.expectEvents(id, 'started -', 'stopped notEnoughDisk', 'ready notEnoughDisk')
      expect(alice.mediaRecoveries).toEqual([])
      expect((await stack.api.getSession(id)).recording).toBe(false)
    }
    expect((await recordings.get(other.id)).status).toBe('started')
    const answer = await recordings.start(both[0]?.id ?? '', INDIVIDUAL)
    expect(answer).toMatchObject(refused(/^not enough disk/))
    expect(answer.headers.get('retry-after')).toBe('2')
    nodeDisk?.empty()
    const { body } = await until('a recording starts', async () => {
      const again = await recordings.start(both[0]?.id ?? '', INDIVIDUAL)
      return again.status === 200 && again
    })
    await recordings.stop((body as { id: string }).id)
    await recordings.stop(other.id)
    await recordings.becomes((body as { id: string }).id, 'ready')
    await recordings.becomes(other.id, 'ready')
    await expectNothingLeft()
  })

  it('without inodes refuses new recordings; running ones and those of other nodes continue', async () => {
    const running = await recorded('small', COMPOSED)
    nodeDisk?.takeFiles()
    const { id } = await session('small')
    expect(await recordings.start(id, INDIVIDUAL)).toMatchObject({ status: 503 })
    expect(recordings.eventsOf(id).filter((line) => line.startsWith('started'))).toEqual([])
    const other = await recorded('large', INDIVIDUAL)
    await recordings.lasts(1.5)
    await recordings.stop(other.id)
    await recordings.stop(running.id)
    nodeDisk?.empty()
    for (const made of [running, other])
      expect((await recordings.becomes(made.id, 'ready')).duration).toBeGreaterThan(1)
    await until('it records again', async () => (await recordings.start(id, INDIVIDUAL)).status === 200)
    await recordings.stop(id)
    await recordings.becomes(id, 'ready')
    await expectNothingLeft()
  })

  it('that is read-only has no slots and refuses recordings until it is writable; another node records', async () => {
    const { id } = await session('small')
    if (nodeDisk) nodeDisk.isReadOnly = true
    expect(await recordings.start(id, INDIVIDUAL)).toMatchObject(refused(/^the media node cannot write recordings/))
    await until('the metric shows no slot', async () => {
      const text = await (await fetch(`${stack.nodes[0]?.opsUrl}/metrics`)).text()
      return /^session_service_recording_slots 0$/m.test(text)
    })
    expect(await fetch(`${stack.nodes[0]?.opsUrl}/readyz`)).toMatchObject({ status: 200 })
    const other = await recorded('large', COMPOSED)
    await recordings.stop(other.id)
    await recordings.becomes(other.id, 'ready')
    expect(recordings.eventsOf(id).filter((line) => line.startsWith('started'))).toEqual([])
    if (nodeDisk) nodeDisk.isReadOnly = false
    await until('it records again', async () => (await recordings.start(id, INDIVIDUAL)).status === 200)
    await recordings.stop(id)
    await recordings.becomes(id, 'ready')
    await expectNothingLeft()
  })
})

withDisks('the disk of the masters', () => {
  it('that is full delays a recording and loses nothing of it', async () => {
    const { id } = await recorded('small', INDIVIDUAL)
    await recordings.lasts(1.5)
    masterDisk?.fill()
    expect((await recordings.stop(id)).status).toBe(200)
    const tried = new RegExp(
      `"recordingId":"${id}".*(delivering the files of a recording failed|finalizing the recording failed)`,
    )
    await until('an attempt has failed', () => stack.journal.find(tried).length > 0)
    expect((await recordings.get(id)).status).toBe('stopped')
    masterDisk?.empty()
    const ready = await recordings.becomes(id, 'ready')
    expect(ready.duration).toBeGreaterThan(1)
    expect((await recordings.fetch(ready)).status).toBe(200)
    await expectNothingLeft()
  })

  it('that is read-only refuses the start, without an event of a start', async () => {
    const { id } = await session('small')
    if (masterDisk) masterDisk.isReadOnly = true
    const answer = await recordings.start(id, INDIVIDUAL)
    expect(answer).toMatchObject(refused(/^the folder of recordings \(SERVICE_RECORDING_PATH\) cannot be written to$/))
    expect(answer.headers.get('retry-after')).toBe('2')
    await recordings.expectEvents(id, 'failed the folder of recordings (SERVICE_RECORDING_PATH) cannot be written to')
    if (masterDisk) masterDisk.isReadOnly = false
    expect((await recordings.start(id, INDIVIDUAL)).status).toBe(200)
    await recordings.stop(id)
    // An operator removes the file.
    const ready = await recordings.becomes(id, 'ready')
    await rm(join(masterDisk?.path ?? '', id, `${id}.zip`))
    const gone = await recordings.fetch(ready)
    expect([gone.status, await gone.json()]).toEqual([404, expect.objectContaining({ status: 404 })])
    expect((await stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
    await expectNothingLeft()
  })
})
