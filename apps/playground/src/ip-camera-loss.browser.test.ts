/** @quiet An encoder needs the CPU to keep up. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts, launchBrowser, makeCameraClip, RtspServer, startStack, until } from '@session-service/testing'
import { expect, it } from '@jest/globals'
import { routeThrough } from './fixtures/route-through.js'
import { Tab } from './fixtures/tab.js'
import { UdpProxy } from './fixtures/udp-proxy.js'

/** The first trial follows after half a minute. */
const DEADLINE_MS = 90_000

it('a client on a lossy network sees a camera in a smaller size, and in the full one when the losses have ended', async () => {
  await using resources = new AsyncDisposableStack()
  const [rtcPort = 0] = await freePorts(1)
  const stack = await startStack({
    playground: true,
    nodeEnv: { MEDIA_NODE_RTC_PORT: String(rtcPort) },
    masterEnv: {
      SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]',
      SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: '0',
    },
  })
  resources.defer(() => stack.stop())
  const proxy = await UdpProxy.start(rtcPort)
  resources.defer(() => proxy.stop())
  const browser = await launchBrowser()
  resources.defer(() => browser.close())
  await routeThrough(proxy, browser.context)
  const folder = await mkdtemp(join(tmpdir(), 'camera-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const picture = 'testsrc2=size=960x540:rate=15'
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac', picture })
  const camera = await RtspServer.start({ clips: { entrance: { file, kinds: ['video', 'audio'] } } })
  resources.defer(() => camera.stop())

  const ada = await Tab.join(browser.context, stack.playgroundUrl ?? '', 'storm', 'Ada')
  await stack.api.createConnection('storm', { type: 'IPCAM', rtspUri: camera.url('entrance') })
  const arrives = (width: number): Promise<unknown> =>
    until(`the width is ${width}`, async () => (await ada.received('IPCAM')).frameWidth === width, DEADLINE_MS)
  await arrives(960)
  proxy.weather = { loss: 0.3, delayMs: 20 }
  await arrives(640)
  proxy.weather = undefined
  await arrives(960)
  const names = (await ada.events()).map(({ name }) => name)
  for (const name of ['streamDestroyed', 'streamPropertyChanged']) expect(names).not.toContain(name)
}, 300_000)
