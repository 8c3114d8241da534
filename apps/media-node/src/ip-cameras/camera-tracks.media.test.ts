import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { until } from '@session-service/testing'
import { MediaStack } from '../rooms/fixtures/media-stack.js'
import { newRoom } from '../rooms/fixtures/publisher.js'
import { CameraTrack } from './camera-tracks.js'

/** More than the default buffer of a socket holds. */
const PACKETS = 150
const PACKET_BYTES = 1_200

let stack: MediaStack
beforeEach(async () => {
  stack = await MediaStack.start()
})
afterEach(() => stack.stop())

it('a worker without processor time loses no packet of a burst of a camera', async () => {
  const roomId = newRoom()
  await stack.join(roomId, 'con')
  const { roomRouter } = stack.peer(roomId, 'con')
  const track = await CameraTrack.open('video', roomRouter)
  const camera = createSocket({ type: 'udp4', reuseAddr: true })
  camera.bind(track.output.sourcePort, '127.0.0.1')
  await once(camera, 'listening')
  const received = async (): Promise<number> => (await track.transport.getStats())[0]?.bytesReceived ?? 0
  const { pid } = roomRouter.worker.worker
  const packet = Buffer.alloc(PACKET_BYTES)
  packet[0] = 0x80
  process.kill(pid, 'SIGSTOP')
  try {
    const send = (): Promise<void> =>
      new Promise((resolve) => camera.send(packet, track.output.port, '127.0.0.1', () => resolve()))
    for (let sent = 0; sent < PACKETS; sent++) await send()
  } finally {
    process.kill(pid, 'SIGCONT')
    camera.close()
  }
  await until('all packets have arrived', async () => (await received()) >= PACKETS * PACKET_BYTES)
  expect(await received()).toBe(PACKETS * PACKET_BYTES)
  track.close()
})
