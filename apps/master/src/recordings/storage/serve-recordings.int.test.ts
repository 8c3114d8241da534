import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ErrorView } from '@session-service/contract'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { rawRequest } from './fixtures/raw-request.js'

const VIDEO = randomBytes(100_000)
const WRITTEN = new Date('2026-01-02T03:04:05Z')

let stack: Stack
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'recordings-'))
  const masterEnv = { SERVICE_RECORDING: 'true', SERVICE_RECORDING_PATH: root }
  stack = await startStack({ masters: 2, nodes: 0, masterEnv })
  await mkdir(join(root, 'room~1'))
  const put = (path: string, content: Buffer | string) => writeFile(join(root, path), content)
  await put('room~1/take.mp4', VIDEO)
  await put('room~1/take.zip', 'zip')
  await put('room~1/take.webm', '')
  await put('room~1/room~1.jpg', 'jpg')
  await put('room~1/take.html', '<script>')
  await put('room~1/.recording.room~1', '{}')
  await put('room~1/.hidden.mp4', 'hidden')
  await put('loose.mp4', 'loose')
  await symlink('/etc/hostname', join(root, 'room~1', 'link.mp4'))
  await symlink(join(root, 'room~1'), join(root, 'linked'))
  await mkdir(join(root, 'room~1', 'folder.mp4'))
  execFileSync('mkfifo', [join(root, 'room~1', 'pipe.mp4')])
  await utimes(join(root, 'room~1', 'take.mp4'), WRITTEN, WRITTEN)
})
afterAll(async () => {
  await stack.stop()
  await rm(root, { recursive: true, force: true })
})

type Headers = Record<string, string>

/** From the second master: every master serves every file. */
const fetchFile = (path: string, headers: Headers = {}, method = 'GET'): Promise<Response> =>
  fetch(`${stack.masterUrls[1]}/service/recordings/${path}`, {
    method,
    headers: { authorization: stack.authorization, ...headers },
  })

const bodyOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer())

describe('a finished recording', () => {
  it.each([
    ['room~1/take.mp4', 'video/mp4', 'inline; filename="take.mp4"'],
    ['room~1/take.zip', 'application/zip', 'attachment; filename="take.zip"'],
    ['room~1/take.webm', 'video/webm', 'inline; filename="take.webm"'],
    ['room~1/room~1.jpg', 'image/jpeg', 'inline; filename="room~1.jpg"'],
    ['room%7E1/room%7e1.jpg', 'image/jpeg', 'inline; filename="room~1.jpg"'],
  ])('%s is served as %s', async (path, type, disposition) => {
    const answer = await fetchFile(path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('content-disposition')).toBe(disposition)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const stored = await readFile(join(root, decodeURIComponent(path)))
    expect(Number(answer.headers.get('content-length'))).toBe(stored.length)
    expect((await bodyOf(answer)).equals(stored)).toBe(true)
  })

  it.each([
    ['bytes=0-499', VIDEO.subarray(0, 500), 'bytes 0-499/100000'],
    ['bytes=99999-', VIDEO.subarray(99_999), 'bytes 99999-99999/100000'],
    ['bytes=-10', VIDEO.subarray(-10), 'bytes 99990-99999/100000'],
    ['bytes=50000-900000', VIDEO.subarray(50_000), 'bytes 50000-99999/100000'],
  ])('with Range %s is answered 206 with the range', async (range, bytes, contentRange) => {
    const answer = await fetchFile('room~1/take.mp4', { range })
    expect(answer.status).toBe(206)
    expect(answer.headers.get('content-range')).toBe(contentRange)
    expect(answer.headers.get('content-length')).toBe(String(bytes.length))
    expect((await bodyOf(answer)).equals(bytes)).toBe(true)
  })

  it.each(['bytes=100000-', 'bytes=5-4', 'bytes=x'])('with Range %s is answered 416', async (range) => {
    const answer = await fetchFile('room~1/take.mp4', { range })
    expect(answer.headers.get('content-range')).toBe('bytes */100000')
    expect(answer.headers.get('content-disposition')).toBeNull()
    expect(ErrorView.parse(await answer.json())).toMatchObject({ status: 416 })
  })

  it('is sent completely for several ranges, and for a range of an earlier version', async () => {
    for (const headers of [{ range: 'bytes=0-1,5-6' }, { range: 'bytes=0-1', 'if-range': '"other"' }] as Headers[]) {
      const answer = await fetchFile('room~1/take.mp4', headers)
      expect([answer.status, (await bodyOf(answer)).length]).toEqual([200, VIDEO.length])
    }
  })

  it('is answered 304 to a client that has the current version', async () => {
    const first = await fetchFile('room~1/take.mp4')
    await first.arrayBuffer()
    const etag = first.headers.get('etag') ?? ''
    const date = first.headers.get('last-modified') ?? ''
    expect([date, first.headers.get('cache-control')]).toEqual([WRITTEN.toUTCString(), 'no-cache'])
    const requests: [Headers, number][] = [
      [{ 'if-none-match': etag }, 304],
      [{ 'if-none-match': `"x", W/${etag}` }, 304],
      [{ 'if-none-match': '"x"', 'if-modified-since': date }, 200],
      [{ 'if-modified-since': date }, 304],
      [{ 'if-modified-since': new Date(WRITTEN.getTime() - 1_000).toUTCString() }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ range: 'bytes=0-1', 'if-range': etag }, 206],
      [{ range: 'bytes=0-1', 'if-range': date }, 206],
    ]
    for (const [headers, status] of requests) {
      const answer = await fetchFile('room~1/take.mp4', headers)
      await answer.arrayBuffer()
      expect({ headers, status: answer.status }).toEqual({ headers, status })
    }
  })

  it('answers HEAD with its size and without a body', async () => {
    const answer = await fetchFile('room~1/take.mp4', { range: 'bytes=0-1' }, 'HEAD')
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '100000'])
    expect([answer.headers.get('accept-ranges'), (await bodyOf(answer)).length]).toEqual(['bytes', 0])
  })

  it.each(['DELETE', 'PUT', 'POST'])('answers 405 to %s', async (method) => {
    const answer = await fetchFile('room~1/take.mp4', {}, method)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('has the same CORS headers as the API', async () => {
    const answer = await fetchFile('room~1/take.zip', { origin: 'https://app.example' })
    const api = await fetch(`${stack.masterUrl}/service/api/sessions`, {
      headers: { authorization: stack.authorization, origin: 'https://app.example' },
    })
    const allowed = api.headers.get('access-control-allow-origin')
    expect(answer.headers.get('access-control-allow-origin')).toBe(allowed)
  })

  it('needs credentials', async () => {
    const answer = await fetch(`${stack.masterUrl}/service/recordings/room~1/take.mp4`)
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic/)])
  })
})

describe('any other path', () => {
  it.each([
    ['does not exist', 'room~1/other.mp4'],
    ['has no such recording', 'room/take.mp4'],
    ['is hidden', 'room~1/.recording.room~1'],
    ['is hidden and has a served type', 'room~1/.hidden.mp4'],
    ['has another type', 'room~1/take.html'],
    ['is a folder', 'room~1/folder.mp4'],
    ['is a pipe', 'room~1/pipe.mp4'],
    ['is a link', 'room~1/link.mp4'],
    ['is in a linked folder', 'linked/take.mp4'],
    ['would be a listing of a recording', 'room~1/'],
    ['would be a listing of all recordings', ''],
    ['has no folder', 'loose.mp4'],
    ['goes up', '../room~1/take.mp4'],
    ['goes up, encoded', '..%2f..%2fetc%2fhostname'],
    ['goes up within', 'room~1/..%2floose.mp4'],
    ['goes up, encoded twice', 'room~1/%252e%252e%252floose.mp4'],
    ['goes up by backslash', 'room~1/..%5cloose.mp4'],
    ['goes up as the id', '%2e%2e/take.mp4'],
    ['starts with a dot segment', './take.mp4'],
    ['has a NUL', 'room~1/take.mp4%00.jpg'],
    ['leads to delivered files', '.parts/room~1'],
    ['is absolute', '%2fetc/hostname.mp4'],
    ['is too long', `room~1/${'x'.repeat(250)}.mp4`],
  ])('that %s is answered 404', async (_, path) => {
    const { status } = await rawRequest(stack.masterUrl, `GET /service/recordings/${path}`, [
      `authorization: ${stack.authorization}`,
    ])
    expect(status).toBe(404)
  })

  it('is answered with the error of the contract', async () => {
    const answer = await fetchFile('room~1/other.mp4')
    expect(ErrorView.parse(await answer.json())).toMatchObject({
      status: 404,
      message: 'there is no such file of a recording',
      path: '/service/recordings/room~1/other.mp4',
    })
  })
})

describe('with public access', () => {
  it('finished recordings need no credentials, and all other paths do', async () => {
    const env = { SERVICE_RECORDING: 'true', SERVICE_RECORDING_PATH: root, SERVICE_RECORDING_PUBLIC_ACCESS: 'true' }
    const publicStack = await startStack({ nodes: 0, masterEnv: env })
    try {
      const statuses = await Promise.all(
        [
          ['/service/recordings/room~1/take.mp4', 200],
          ['/service/recordings/room%7E1/take.mp4', 200],
          ['/service/recordings/room~1/other.mp4', 404],
          ['/service/recordings/', 401],
          ['/service/recordings/..%2fx/take.mp4', 401],
          ['/service/api/recordings', 401],
          ['/service/internal/recordings/up/2/a.mp4', 405],
        ].map(async ([path, expected]) => {
          const answer = await fetch(`${publicStack.masterUrl}${path}`)
          await answer.arrayBuffer()
          return [path, answer.status === expected ? 'as expected' : answer.status]
        }),
      )
      expect(statuses.filter(([, verdict]) => verdict !== 'as expected')).toEqual([])
    } finally {
      await publicStack.stop()
    }
  })
})
