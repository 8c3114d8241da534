import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { RECORDING_GONE_HEADER, type RecordedFile, type RecordingDelivery } from '@session-service/contract'
import { deliver, type DeliveryOptions, type Delivery } from './delivery.js'
import { deliveryTo } from '../fixtures/jobs.js'
import { Receiver } from '../fixtures/receiver.js'

const MIB = 1024 * 1024

let folder: string
let receiver: Receiver
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'delivery-'))
  receiver = await Receiver.start()
})
afterEach(async () => {
  await receiver.stop()
  await rm(folder, { recursive: true, force: true })
})

async function deliveryOf(sizes: Record<string, number>, target: RecordingDelivery): Promise<Delivery> {
  const own = join(folder, 'own')
  await mkdir(own, { recursive: true })
  const files: RecordedFile[] = []
  for (const [name, size] of Object.entries(sizes)) {
    await writeFile(join(own, name), randomBytes(size))
    files.push({ name, size, hasAudio: true, hasVideo: true, startedAt: 1, endedAt: 2 })
  }
  return { recordingId: 'ses~1', part: 2, target, folder: own, files }
}

const elsewhere = (): RecordingDelivery => ({
  folder: join(folder, 'not here'),
  proof: { file: '.proof', content: 'x' },
  url: receiver.url,
  token: 'token',
})
/** Aborts the deliveries of a failed test, which would retry without end. */
const quickly = (more: Partial<DeliveryOptions> = {}): DeliveryOptions => ({
  signal: AbortSignal.timeout(20_000),
  firstPauseMs: 1,
  longestPauseMs: 5,
  ...more,
})
const local = (name: string): Promise<Buffer> => readFile(join(folder, 'own', name))

describe('on the same disk', () => {
  it('files are moved, and files that were moved before count as delivered', async () => {
    const target = await deliveryTo(join(folder, 'masters'))
    const delivery = await deliveryOf({ 'a.webm': 10, 'b.webm': 20 }, target)
    expect(await deliver(delivery, quickly())).toEqual(delivery.files)
    expect(await deliver(delivery, quickly())).toEqual(delivery.files)
    expect(await readdir(join(folder, 'own'))).toEqual([])
    expect((await readdir(target.folder)).toSorted().slice(-2)).toEqual(['a.webm', 'b.webm'])
    expect(receiver.requests).toEqual([])
  })

  it('a folder of the same name with another proof does not count as the same disk', async () => {
    const { folder: there, proof } = await deliveryTo(join(folder, 'masters'))
    const target = { ...elsewhere(), folder: there, proof: { ...proof, content: 'of the masters' } }
    const delivery = await deliveryOf({ 'a.webm': 10 }, target)
    expect(await deliver(delivery, quickly())).toEqual(delivery.files)
    expect(await local('a.webm').then((bytes) => receiver.bytes.get('/parts/ses~1/2/a.webm')?.equals(bytes))).toBe(true)
  })
})

describe('over HTTP', () => {
  it('a file is uploaded in chunks, each from the offset of the previous one', async () => {
    const delivery = await deliveryOf({ 'a.webm': 9 * MIB }, elsewhere())
    await deliver(delivery, quickly())
    expect(receiver.requests).toEqual([
      'HEAD /parts/ses~1/2/a.webm',
      `PUT /parts/ses~1/2/a.webm bytes 0-${4 * MIB - 1}/${9 * MIB}`,
      `PUT /parts/ses~1/2/a.webm bytes ${4 * MIB}-${8 * MIB - 1}/${9 * MIB}`,
      `PUT /parts/ses~1/2/a.webm bytes ${8 * MIB}-${9 * MIB - 1}/${9 * MIB}`,
    ])
    expect(await local('a.webm').then((bytes) => receiver.bytes.get('/parts/ses~1/2/a.webm')?.equals(bytes))).toBe(true)
  })

  it.each<[string, Receiver['interfere']]>([
    ['answers 500', (_, response, nth) => nth < 4 && Boolean(response.writeHead(500).end())],
    ['cuts the connection off', (request, _, nth) => nth % 3 === 0 && Boolean(request.socket.destroy())],
    ['does not know the token for a while', (_, response, nth) => nth < 3 && Boolean(response.writeHead(401).end())],
  ])('retries until the file is delivered when the master %s', async (_, interfere) => {
    receiver.interfere = interfere
    const delivery = await deliveryOf({ 'a.webm': 9 * MIB, 'b.webm': 10 }, elsewhere())
    const failures: unknown[] = []
    expect(await deliver(delivery, quickly({ onRetry: (error) => failures.push(error) }))).toEqual(delivery.files)
    expect(failures.length).toBeGreaterThan(0)
    for (const name of ['a.webm', 'b.webm']) {
      expect(await local(name).then((bytes) => receiver.bytes.get(`/parts/ses~1/2/${name}`)?.equals(bytes))).toBe(true)
    }
  })

  it('stops when the recording was deleted', async () => {
    receiver.interfere = (_, response) => Boolean(response.writeHead(404, { [RECORDING_GONE_HEADER]: '1' }).end())
    expect(await deliver(await deliveryOf({ 'a.webm': 10 }, elsewhere()), quickly())).toEqual([])
  })

  it.each([
    [404, {}],
    [410, {}],
    [410, { [RECORDING_GONE_HEADER]: '1' }],
  ])('retries after a %d (%j) without the header for a deleted recording', async (status, headers) => {
    receiver.interfere = (_, response, nth) => nth < 4 && Boolean(response.writeHead(status, headers).end())
    const delivery = await deliveryOf({ 'a.webm': 10 }, elsewhere())
    const failures: unknown[] = []
    expect(await deliver(delivery, quickly({ onRetry: (error) => failures.push(error) }))).toEqual(delivery.files)
    expect(failures).toHaveLength(3)
  })

  it('a file that is missing here is delivered only if the master has it whole', async () => {
    const delivery = await deliveryOf({ 'a.webm': 10, 'b.webm': 10 }, elsewhere())
    receiver.bytes.set('/parts/ses~1/2/a.webm', await local('a.webm'))
    await rm(join(folder, 'own'), { recursive: true })
    expect((await deliver(delivery, quickly())).map(({ name }) => name)).toEqual(['a.webm'])
  })

  it('stops when its signal is aborted, and keeps the file', async () => {
    const leaving = new AbortController()
    receiver.interfere = (_, response) => Boolean(response.writeHead(500).end())
    const delivery = await deliveryOf({ 'a.webm': 10 }, elsewhere())
    const onRetry = (): void => leaving.abort(new Error('ends'))
    await expect(deliver(delivery, quickly({ signal: leaving.signal, onRetry }))).rejects.toThrow('ends')
    expect(await local('a.webm')).toHaveLength(10)
  })
})
