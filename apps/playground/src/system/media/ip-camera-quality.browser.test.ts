/** @quiet An encoder needs the CPU to keep up. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCameraClip, RtspServer, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { useCall } from '../../fixtures/call.js'

/** Kbps; the camera needs several times as much. */
const LIMIT = 300
const call = useCall({
  frames: 3,
  masterEnv: {
    SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]',
    SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: String(LIMIT),
  },
})
let folder: string
let camera: RtspServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'camera-'))
  const picture = 'testsrc2=size=960x540:rate=15'
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac', picture })
  camera = await RtspServer.start({ clips: { entrance: { file, kinds: ['video', 'audio'] } } })
})
afterAll(async () => {
  await camera?.stop()
  await rm(folder, { recursive: true })
})

it.each<[adaptativeBitrate: boolean, width: number]>([
  [true, 640],
  [false, 960],
])(
  'clients with a low limit see a camera with adaptativeBitrate %s in a width of %d, and hear it',
  async (adaptativeBitrate, width) => {
    const tabs = await call.both()
    const { stack, sessionId } = call
    await stack.api.createConnection(sessionId, { type: 'IPCAM', rtspUri: camera.url('entrance'), adaptativeBitrate })
    for (const tab of tabs) {
      await tab.event('connectionCreated')
      await tab.event('streamCreated')
      await until('pictures of the due size', async () => (await tab.received('IPCAM')).frameWidth === width, 60_000)
      const before = await tab.received('IPCAM')
      const widths = new Set<number>()
      await until(
        'pictures and sound go on',
        async () => {
          const { framesDecoded, audioSeconds, frameWidth } = await tab.received('IPCAM')
          widths.add(frameWidth)
          return framesDecoded > before.framesDecoded + 40 && audioSeconds > before.audioSeconds + 2
        },
        60_000,
      )
      expect([...widths]).toEqual([width])
    }
    const events = await Promise.all(tabs.map((tab) => tab.events()))
    const names = events.flat().map(({ name }) => name)
    for (const name of ['streamDestroyed', 'streamPropertyChanged']) expect(names).not.toContain(name)
  },
  180_000,
)
