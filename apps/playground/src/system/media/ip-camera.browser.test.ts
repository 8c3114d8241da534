import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCameraClip, makeSparseClip, RtspServer, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { useCall } from '../../fixtures/call.js'
import type { Tab } from '../../fixtures/tab.js'

const PASSWORD = 'geheim'
const KEY_FRAME_SECONDS = 20
/** The frame rate of the clip. */
const PICTURES_A_SECOND = 15

describe('a camera on the network', () => {
  const call = useCall({ frames: 3, masterEnv: { SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]' } })
  let folder: string
  let camera: RtspServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'camera-'))
    const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac' })
    const credentials = { user: 'admin', password: PASSWORD, scheme: 'Digest' } as const
    const rare = await makeSparseClip(folder, { seconds: KEY_FRAME_SECONDS, kbps: 2_000 })
    const clips = { entrance: { file, kinds: ['video', 'audio'] }, rare: { file: rare, kinds: ['video'] } } as const
    camera = await RtspServer.start({ clips, credentials })
  })
  afterAll(async () => {
    await camera?.stop()
    await rm(folder, { recursive: true })
  })

  const frames = async (tab: Tab): Promise<number> => (await tab.received('IPCAM')).framesDecoded

  it('is seen and heard by everyone, also after it was lost, shows its failures, and leaves with its connection', async () => {
    const [ada, grace] = await call.both()
    const rtspUri = camera.url('entrance').replace('://', `://admin:${PASSWORD}@`)
    const created = await call.stack.api.createConnection(call.sessionId, { type: 'IPCAM', rtspUri, data: 'entrance' })
    expect(created).toMatchObject({ type: 'IPCAM', status: 'active', platform: 'IPCAM', token: null, rtspUri })
    for (const tab of [ada, grace]) {
      await tab.event('connectionCreated')
      await until('pictures of the camera', async () => (await frames(tab)) > 20, 30_000)
    }
    await until('sound of the camera', async () => (await ada.received('IPCAM')).audioEnergy > 0)
    await until('the camera plays', async () => {
      const { cameraStatus } = await call.stack.api.getConnection(call.sessionId, created.id)
      return cameraStatus === 'playing'
    })
    camera.drop()
    await ada.event('cameraStatusChanged')
    const before = await Promise.all([frames(ada), frames(grace)])
    for (const [index, tab] of [ada, grace].entries())
      await until('pictures after the loss', async () => (await frames(tab)) > (before[index] ?? 0) + 20, 30_000)

    camera.fault = 'garbage'
    camera.drop()
    const late = await call.join('Late')
    for (const tab of [ada, late])
      await until('the tile of the camera shows its failure', async () => {
        const label = await tab.tile('entrance').getAttribute('aria-label')
        return label?.startsWith('entrance, ') && label.includes('camera')
      })
    camera.fault = undefined
    await until('the tile shows the camera', async () => {
      return (await ada.tile('entrance').getAttribute('aria-label')) === 'entrance'
    })

    await call.stack.api.deleteConnection(call.sessionId, created.id)
    await ada.event('connectionDestroyed')
    await until('the camera is not read any more', () => camera.viewers === 0)
  }, 120_000)

  it('is seen by a participant who joins between two key frames, long before the next one', async () => {
    call.newSession()
    const ada = await call.join('Ada')
    const rtspUri = camera.url('rare').replace('://', `://admin:${PASSWORD}@`)
    await call.stack.api.createConnection(call.sessionId, { type: 'IPCAM', rtspUri })
    // Ada sees it from its first key frame on.
    await until('pictures of the camera', async () => (await frames(ada)) > 3 * PICTURES_A_SECOND, 60_000)
    const grace = await call.join('Grace')
    await until('she has caught up', async () => (await frames(grace)) > 3 * PICTURES_A_SECOND, 30_000)
    expect(await frames(ada)).toBeLessThan(KEY_FRAME_SECONDS * PICTURES_A_SECOND)
    await until(
      'she sees the next key frame, too',
      async () => {
        return (await frames(grace)) > (KEY_FRAME_SECONDS + 2) * PICTURES_A_SECOND
      },
      60_000,
    )
  }, 180_000)
})
