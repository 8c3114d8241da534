import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RecordingView } from '@session-service/contract'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { inspect } from '../storage/fixtures/media.js'

/** Time limit on a busy machine, ms. */
const READY_MS = 60_000
jest.setTimeout(2 * READY_MS)

let stack: Stack
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fetched-'))
  stack = await startStack({ masters: 2, masterEnv: { SERVICE_RECORDING: 'true' } })
})
afterAll(async () => {
  await stack.stop()
  await rm(folder, { recursive: true, force: true })
})

it('a finished recording can be fetched from any master until it is deleted', async () => {
  const { id } = await stack.api.createSession()
  const participant = await stack.join(id)
  const { status, body } = await stack.rest('POST', '/recordings/start', { session: id })
  expect({ status, body }).toMatchObject({ status: 200, body: { status: 'started' } })
  await until('two seconds are recorded', () => Date.now() - RecordingView.parse(body).createdAt > 2_000)
  await stack.rest('POST', `/recordings/stop/${id}`)
  const ready = async (): Promise<RecordingView | false> => {
    const recording = RecordingView.parse((await stack.rest('GET', `/recordings/${id}`)).body)
    return recording.status === 'ready' && recording
  }
  const { url, size, duration } = await until('the recording is ready', ready, READY_MS)
  const address = String(url).replace(stack.masterUrl, stack.masterUrls[1] ?? '')
  const headers = { authorization: stack.authorization }
  const fetched = Buffer.from(await (await fetch(address, { headers })).arrayBuffer())
  expect(fetched.length).toBe(size)
  const path = join(folder, 'fetched.mp4')
  await writeFile(path, fetched)
  expect(await inspect(path)).toEqual({
    duration: expect.closeTo(duration, 1),
    codecs: ['aac', 'h264'],
    complaints: '',
  })
  expect((await stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  expect((await fetch(address, { headers })).status).toBe(404)
  await participant.close()
})
