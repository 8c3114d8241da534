import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { HttpCamera, makeCameraClip, makeCertificate } from '@session-service/testing'
import { nalTypes, Viewer, type ViewerOptions } from './fixtures/viewer.js'

const SPS = 7
const PPS = 8
const IDR = 5
const CREDENTIALS = { user: 'ann', password: 'p@ss:w/ord' }

let folder: string
let camera: HttpCamera
let trap: HttpCamera
let viewer: Viewer | undefined
const trapped: (string | undefined)[] = []

const basic = ({ user, password }: typeof CREDENTIALS): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'http-camera-'))
  const clip = { video: 'h264', audio: 'aac' } as const
  await mkdir(join(folder, 'public'))
  await Promise.all([
    makeCameraClip(folder, { ...clip, extension: 'mp4' }),
    makeCameraClip(folder, { ...clip, extension: 'm3u8' }),
    makeCameraClip(join(folder, 'public'), { video: 'h264', extension: 'mp4' }),
  ])
  await symlink(join(folder, 'h264-aac.mp4'), join(folder, 'public/link.mp4'))
  await writeFile(join(folder, 'file.m3u8'), playlist(`file://${folder}/h264-aac0.ts`))
  trap = await HttpCamera.start(folder, {
    '/trap': ({ headers }, response) => {
      trapped.push(headers.authorization)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="trap"' }).end()
    },
  })
  await writeFile(join(folder, 'loopback.m3u8'), playlist('http://127.0.0.77:9/1.ts'))
  camera = await HttpCamera.start(folder, {
    '/guarded': ({ headers }, response) => {
      if (headers.authorization === basic(CREDENTIALS)) response.writeHead(302, { location: trap.url('trap') }).end()
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="camera"' }).end()
    },
    '/metadata': (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
    '/page': (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'),
    '/endless': (_, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' })
      const more = (): void => {
        while (!response.destroyed && response.write('#EXTM3U\n#EXT-X-VERSION:3\n'.repeat(2_000)));
      }
      response.on('drain', more)
      more()
    },
  })
})

afterEach(async () => {
  await viewer?.stop()
  viewer = undefined
})

afterAll(async () => {
  await Promise.all([camera.stop(), trap.stop()])
  await rm(folder, { recursive: true })
})

const playlist = (uri: string): string =>
  `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${uri}\n#EXTINF:1,\n${uri}\n#EXT-X-ENDLIST\n`

function open(options: ViewerOptions): Viewer {
  viewer = new Viewer({ files: join(folder, 'public'), ...options })
  return viewer
}

async function expectPictures(from: Viewer): Promise<void> {
  const { packets } = await from.media('video', 15)
  expect(packets.flatMap(nalTypes)).toEqual(expect.arrayContaining([SPS, PPS, IDR]))
}

describe('streams over HTTP and from files', () => {
  it.each(['h264-aac.mp4', 'h264-aac.m3u8'])('%s is sent as H.264 and Opus', async (path) => {
    const from = open({ uri: camera.url(path) })
    expect(await from.until('streams')).toMatchObject({ count: 2 })
    await expectPictures(from)
    await from.media('audio', 15)
    const [video, audio] = [await from.media('video'), await from.media('audio')]
    const skew = (video.delays.at(-1) ?? Infinity) - (audio.delays.at(-1) ?? -Infinity)
    expect(Math.abs(skew)).toBeLessThan(500)
  })

  it('are read over TLS, with a certificate that is trusted', async () => {
    const tls = await makeCertificate(folder)
    const safe = await HttpCamera.start(folder, {}, tls)
    await expectPictures(open({ uri: safe.url('h264-aac.mp4'), trust: tls.cert }))
    await viewer?.stop()
    expect(await open({ uri: safe.url('h264-aac.mp4') }).until('error')).toMatchObject({ cause: 'tls' })
    await viewer?.stop()
    await safe.stop()
  })

  it('MJPEG is encoded', async () => {
    const from = open({ uri: camera.url('mjpeg') })
    expect(await from.until('streams')).toMatchObject({ count: 1 })
    expect(from.all('stream')).toMatchObject([{ kind: 'video', codec: 'JPEG', copied: false }])
    await expectPictures(from)
  })

  it('a file is sent in real time, and ended', async () => {
    const from = open({ uri: `file://${folder}/public/h264.mp4` })
    await from.media('video', 5)
    const startedAt = performance.now()
    await from.until('ended')
    expect(performance.now() - startedAt).toBeGreaterThan(3_000)
  })
})

describe('failures over HTTP and of files', () => {
  it.each([
    ['an unknown path', 'missing.mp4', 'not-found'],
    ['a path that needs credentials', 'guarded', 'unauthorized'],
    ['a page without media', 'page', 'unsupported'],
  ])('%s (/%s) is %s', async (_, path, cause) => {
    expect(await open({ uri: camera.url(path) }).until('error')).toMatchObject({ cause })
  })

  it.each([
    ['a redirect to metadata', 'metadata'],
    ['a playlist of local files', 'file.m3u8'],
  ])('%s is a forbidden-address', async (_, path) => {
    const from = open({ uri: camera.url(path), allow: ['127.0.0.1/32'] })
    expect(await from.until('error')).toMatchObject({ cause: 'forbidden-address' })
  })

  it('a playlist that leads to loopback is not read', async () => {
    const from = open({ uri: camera.url('loopback.m3u8'), allow: ['127.0.0.1/32'] })
    expect(await from.until('error')).toMatchObject({ cause: 'forbidden-address' })
  })

  it('a redirect does not receive the credentials', async () => {
    await open({ uri: camera.url('guarded'), ...CREDENTIALS }).until('error')
    expect(trapped).toEqual([])
  })

  it('an endless playlist fails', async () => {
    const from = open({ uri: camera.url('endless'), timeoutMs: 5_000 })
    await from.until('error')
  })

  it.each([
    ['outside of the folder', () => `file://${folder}/h264-aac.mp4`],
    ['outside, by its parent', () => `file://${folder}/public/../h264-aac.mp4`],
    ['a link to the outside', () => `file://${folder}/public/link.mp4`],
    ['a device', () => 'file:///dev/zero'],
    ['a folder', () => `file://${folder}/public`],
  ])('%s is not-found', async (_, uri) => {
    expect(await open({ uri: uri() }).until('error')).toMatchObject({ cause: 'not-found' })
  })
})
