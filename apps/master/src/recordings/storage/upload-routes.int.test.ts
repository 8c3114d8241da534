import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { ErrorView } from '@session-service/contract'
import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { rawRequest } from './fixtures/raw-request.js'
import { UploadTokens } from './upload-token.js'

let stack: Stack
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'recordings-'))
  stack = await startStack({ nodes: 0, masterEnv: { SERVICE_RECORDING: 'true', SERVICE_RECORDING_PATH: root } })
})
afterAll(async () => {
  await stack.stop()
  await rm(root, { recursive: true, force: true })
})

type Headers = Record<string, string>

describe('an uploaded file', () => {
  const ref = { recordingId: 'up', part: 2 }
  const folder = (): string => join(root, '.parts', 'up', '2')
  const bearer = (): Headers => ({ authorization: `Bearer ${new UploadTokens([stack.secret]).of(ref)}` })
  const CONTENT = randomBytes(3_000_000)

  const send = async (method: string, file: string, headers: Headers = {}, body?: Buffer) => {
    const answer = await fetch(`${stack.masterUrl}/service/internal/recordings/up/2/${file}`, {
      method,
      headers: { ...bearer(), ...headers },
      ...(body && { body: new Blob([body]) }),
    })
    await answer.arrayBuffer()
    return { status: answer.status, offset: answer.headers.get('upload-offset') }
  }
  const put = (file: string, from: number, to: number, size: number, body = CONTENT.subarray(from, to + 1)) =>
    send('PUT', file, { 'content-range': `bytes ${from}-${to}/${size}` }, body)

  beforeAll(() => mkdir(folder(), { recursive: true }))

  it('can be sent in one request that is larger than other bodies may be', async () => {
    expect(await send('HEAD', 'a.mp4')).toEqual({ status: 200, offset: '0' })
    expect(await put('a.mp4', 0, 2_999_999, 3_000_000)).toEqual({ status: 204, offset: '3000000' })
    expect((await readFile(join(folder(), 'a.mp4'))).equals(CONTENT)).toBe(true)
    expect(await readdir(folder())).toEqual(['a.mp4'])
    // A piece whose answer was lost is sent again.
    expect(await put('a.mp4', 0, 2_999_999, 3_000_000)).toEqual({ status: 204, offset: '3000000' })
    expect(await send('HEAD', 'a.mp4')).toEqual({ status: 200, offset: '3000000' })
    expect(await put('a.mp4', 0, 9, 10)).toEqual({ status: 409, offset: '3000000' })
  })

  it('can be sent in pieces that overlap, and gets its name when it is complete', async () => {
    expect(await put('b.mp4', 0, 999_999, 3_000_000)).toEqual({ status: 204, offset: '1000000' })
    expect(await readdir(folder())).not.toContain('b.mp4')
    // One byte less than stored: otherwise the media node would take the file for delivered.
    expect(await send('HEAD', 'b.mp4')).toEqual({ status: 200, offset: '999999' })
    expect(await put('b.mp4', 1_500_000, 2_999_999, 3_000_000)).toEqual({ status: 409, offset: '999999' })
    expect(await put('b.mp4', 900_000, 1_999_999, 3_000_000)).toEqual({ status: 204, offset: '2000000' })
    expect(await put('b.mp4', 2_000_000, 2_999_999, 3_000_000)).toEqual({ status: 204, offset: '3000000' })
    expect((await readFile(join(folder(), 'b.mp4'))).equals(CONTENT)).toBe(true)
  })

  it('continues where its connection broke off', async () => {
    const { hostname, port } = new URL(stack.masterUrl)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    const headers = ['content-length: 3000000', 'content-range: bytes 0-2999999/3000000', 'host: x']
    const authorization = `authorization: ${bearer().authorization}`
    socket.write(
      `${['PUT /service/internal/recordings/up/2/c.mp4 HTTP/1.1', authorization, ...headers].join('\r\n')}\r\n\r\n`,
    )
    socket.write(CONTENT.subarray(0, 700_000))
    await until('the bytes are on the disk', async () => (await send('HEAD', 'c.mp4')).offset === '699999')
    socket.destroy()
    expect(await put('c.mp4', 700_000, 2_999_999, 3_000_000)).toEqual({ status: 204, offset: '3000000' })
    expect((await readFile(join(folder(), 'c.mp4'))).equals(CONTENT)).toBe(true)
  })

  it('is completed after the death of a master that had stored all bytes', async () => {
    await writeFile(join(folder(), '.g.mp4.part'), CONTENT)
    expect(await send('HEAD', 'g.mp4')).toEqual({ status: 200, offset: '2999999' })
    expect(await put('g.mp4', 2_999_999, 2_999_999, 3_000_000)).toEqual({ status: 204, offset: '3000000' })
    expect((await readFile(join(folder(), 'g.mp4'))).equals(CONTENT)).toBe(true)
    expect(await send('HEAD', 'g.mp4')).toEqual({ status: 200, offset: '3000000' })
  })

  it('is stored correctly when it is sent twice at the same time', async () => {
    const answers = await Promise.all([put('d.mp4', 0, 2_999_999, 3_000_000), put('d.mp4', 0, 2_999_999, 3_000_000)])
    for (const { status } of answers) expect([204, 409]).toContain(status)
    expect((await readFile(join(folder(), 'd.mp4'))).equals(CONTENT)).toBe(true)
  })

  it('may be empty', async () => {
    expect(await send('PUT', 'e.webm', { 'content-range': 'bytes */0' })).toEqual({ status: 204, offset: '0' })
    expect((await readFile(join(folder(), 'e.webm'))).length).toBe(0)
  })

  it('of a deleted recording is refused with the header recording-gone', async () => {
    const token = new UploadTokens([stack.secret]).of({ recordingId: 'up', part: 3 })
    const url = `${stack.masterUrl}/service/internal/recordings/up/3/a.mp4`
    const headers = { authorization: `Bearer ${token}`, 'content-range': 'bytes 0-0/1' }
    const asked = await fetch(url, { method: 'HEAD', headers })
    expect([asked.status, asked.headers.has('recording-gone')]).toEqual([404, true])
    const answer = await fetch(url, { method: 'PUT', headers, body: 'x' })
    expect(ErrorView.parse(await answer.json())).toMatchObject({ status: 404 })
  })

  it('is refused with 503 while its folder is missing', async () => {
    await stack.postgres.query(
      `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
       VALUES ('away', 'away', 'away_1', 'stopped', 1, '{}', 'node')`,
    )
    const [row] = await stack.postgres.query(
      `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch) VALUES ('away', 'node', 'boot', 1)
       RETURNING part`,
    )
    const part = Number(row?.part)
    const token = new UploadTokens([stack.secret]).of({ recordingId: 'away', part })
    const ask = async (): Promise<[number, boolean]> => {
      const url = `${stack.masterUrl}/service/internal/recordings/away/${part}/a.mp4`
      const answer = await fetch(url, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } })
      return [answer.status, answer.headers.has('recording-gone')]
    }
    expect(await ask()).toEqual([503, false])
    expect((await stack.rest('DELETE', '/recordings/away')).status).toBe(204)
    expect(await ask()).toEqual([404, true])
  })

  it.each<[string, string, Headers, number]>([
    ['without token', 'up/2/f.mp4', { authorization: '' }, 401],
    ['with the service’s credentials', 'up/2/f.mp4', { authorization: 'basic' }, 401],
    ['with the token of another part', 'up/1/f.mp4', {}, 401],
    ['to another recording', 'upp/2/f.mp4', {}, 401],
    ['to another spelling of the part', 'up/02/f.mp4', {}, 401],
    ['with a hidden name', 'up/2/.proof', {}, 404],
    ['with a path as its name', 'up/2/..%2f..%2ff.mp4', {}, 404],
    ['without Content-Range', 'up/2/f.mp4', { 'content-range': '' }, 400],
    ['with a body longer than its Content-Range', 'up/2/f.mp4', { 'content-range': 'bytes 0-1/2' }, 400],
  ])('is refused %s', async (_, path, changed, status) => {
    const headers: Headers = { ...bearer(), 'content-range': 'bytes 0-3/4', ...changed }
    if (headers.authorization === 'basic') headers.authorization = stack.authorization
    const lines = Object.entries({ ...headers, 'content-length': '4' }).map(([name, value]) => `${name}: ${value}`)
    const answer = await rawRequest(stack.masterUrl, `PUT /service/internal/recordings/${path}`, lines, 'four')
    expect(answer.status).toBe(status)
    expect(await readdir(folder())).not.toContain('f.mp4')
  })

  it('is refused with an answer and without a connection reset when its body is longer than its Content-Range', async () => {
    const { hostname, port } = new URL(stack.masterUrl)
    const body = randomBytes(12_000_000)
    const lines = ['PUT /service/internal/recordings/up/2/h.mp4 HTTP/1.1', 'host: x', `content-length: ${body.length}`]
    const head = [...lines, `authorization: ${bearer().authorization}`, 'content-range: bytes 0-99/100']
    const socket = connect(Number(port), hostname)
    // The answer is read after the whole body is sent.
    await pipeline(Readable.from([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), socket, { end: false })
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
    expect(await readdir(folder())).not.toContain('h.mp4')
  })

  it('has a token that grants access to nothing else', async () => {
    const answers = await Promise.all(
      ['/service/api/sessions', '/service/recordings/room~1/take.mp4'].map((path) =>
        fetch(stack.masterUrl + path, { headers: bearer() }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([401, 401])
    expect(stack.journal.find(new UploadTokens([stack.secret]).of(ref))).toEqual([])
  })
})
