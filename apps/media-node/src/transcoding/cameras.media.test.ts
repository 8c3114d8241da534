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

let testbed: TranscodingTestbed
let folder: string
let camera: RtspServer
let cameras: IpCamerasService
let status: string | undefined

beforeAll(async () => {
  testbed = await TranscodingTestbed.start()
  folder = await mkdtemp(join(tmpdir(), 'cameras-'))
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'aac' })
  camera = await RtspServer.start({ clips: { main: { file, kinds: ['video', 'audio'] } } })
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

async function start(): Promise<Room> {
  const roomId = newRoom()
  await cameras.startCamera({
    ...{ roomId, connectionId: 'cam', sessionId: 'session', epoch: 1, streamId: 'str', record: true, serverData: '' },
    ...{ videoCodec: 'VP8', allowTranscoding: true },
    source: {
      uri: camera.url('main'),
      networkCache: 0,
      adaptativeBitrate: true,
      onlyPlayWithSubscribers: true,
      allowedAddresses: ['127.0.0.0/8'],
    },
  })
  return testbed.stack.service.rooms.get(roomId)
}

it('an H.264 camera in a VP8 session is transcoded only for clients without H.264, which count as receivers', async () => {
  const room = await start()
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
