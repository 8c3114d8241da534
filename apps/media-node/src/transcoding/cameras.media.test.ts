import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import type { NodeFact } from '@session-service/contract'
import { makeCameraClip, RtspServer, until } from '@session-service/testing'
import { IpCamerasService } from '../ip-cameras/ip-cameras.service.js'
import { newRoom } from '../rooms/fixtures/publisher.js'
import type { Room } from '../rooms/room.js'
import { receives, TranscodingTestbed } from './fixtures/testbed.js'

/** It needs more than 500 kbps. */
const BUSY_PICTURE = 'testsrc2=size=640x360:rate=15,noise=alls=10:allf=t'
/** The window in which a bitrate is measured, in units of an RTP timestamp. */
const WINDOW = 90_000

/** The bitrate of the last second of received video. */
function kbpsOf(packets: readonly Buffer[]): number {
  const end = packets.at(-1)?.readUInt32BE(4) ?? 0
  const last = packets.filter((packet) => ((end - packet.readUInt32BE(4)) | 0) < WINDOW)
  return last.reduce((sum, { length }) => sum + length * 8, 0) / 1_000
}

let testbed: TranscodingTestbed
let folder: string
let camera: RtspServer
let cameras: IpCamerasService
let status: string | undefined

beforeAll(async () => {
  testbed = await TranscodingTestbed.start()
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac' })
  const busy = await makeCameraClip(folder, { video: 'h264', picture: BUSY_PICTURE })
  camera = await RtspServer.start({
    clips: { main: { file, kinds: ['video', 'audio'] }, busy: { file: busy, kinds: ['video'] } },
  })
  cameras = new IpCamerasService(loadNodeConfig({ MEDIA_NODE_ID: 'node' }), testbed.stack.service, {
    send: async (fact: Pick<NodeFact, 'kind'> & { camera?: { status: string } }) => {
      status = fact.camera?.status ?? status
      return { dropRoomIds: [] }
    },
  })
  cameras.idleMs = 300
})
afterEach(() => testbed.reset())
afterAll(async () => {
  await camera?.stop()
  await testbed.stop()
  await rm(folder, { recursive: true })
})

interface Options {
  allowTranscoding: boolean
  adaptativeBitrate: boolean
  clip?: 'main' | 'busy'
}

async function start({ allowTranscoding, adaptativeBitrate, clip = 'main' }: Options): Promise<Room> {
  const roomId = newRoom()
  await cameras.startCamera({
    ...{ roomId, connectionId: 'cam', sessionId: 'session', epoch: 1, streamId: 'str', record: true, serverData: '' },
    ...{ videoCodec: 'VP8', allowTranscoding },
    source: {
      uri: camera.url(clip),
      networkCache: 0,
      adaptativeBitrate,
      onlyPlayWithSubscribers: true,
      allowedAddresses: ['127.0.0.0/8'],
    },
  })
  return testbed.stack.service.rooms.get(roomId)
}

it('an H.264 camera in a VP8 session is transcoded for clients without H.264 only, which count as receivers', async () => {
  const room = await start({ allowTranscoding: false, adaptativeBitrate: true })
  await until('it is not read without subscribers', () => status === 'idle')
  const same = await testbed.subscribe({ room }, ['VP8', 'H264'])
  await receives(same)
  expect([same.codec, testbed.count]).toEqual(['H264', 0])
  await same.unsubscribe()
  const other = await testbed.subscribe({ room }, ['VP8'])
  await receives(other, 25)
  expect([other.codec, testbed.count]).toEqual(['VP8', 1])
  await other.unsubscribe()
  await until('it is not read again', () => testbed.count === 0 && status === 'idle')
})

it('a transcoded video has the bitrate that its most demanding subscriber needs, as subscribers come and go', async () => {
  const room = await start({ allowTranscoding: false, adaptativeBitrate: true, clip: 'busy' })
  const constrained = await testbed.subscribe({ room }, ['VP8'], 250)
  const reaches = async (text: string, isReached: (kbps: number) => boolean): Promise<void> => {
    // More than the window.
    await receives(constrained, 25)
    await until(text, () => isReached(kbpsOf(constrained.packets)), 30_000)
  }
  await reaches('the bitrate is that of the constrained subscriber', (kbps) => kbps < 350)
  const other = await testbed.subscribe({ room }, ['VP8'])
  await reaches('the bitrate is that of the other subscriber', (kbps) => kbps > 500)
  expect(testbed.count).toBe(1)
  await other.unsubscribe()
  await reaches('the bitrate is that of the constrained subscriber again', (kbps) => kbps < 350)
  await constrained.decode()
})

it('clients without H.264 get the audio only of a camera whose video may not be transcoded', async () => {
  const room = await start({ allowTranscoding: true, adaptativeBitrate: false })
  const { kinds } = await testbed.subscribe({ room }, ['VP8'])
  expect([kinds, testbed.count]).toEqual([['audio'], 0])
})
