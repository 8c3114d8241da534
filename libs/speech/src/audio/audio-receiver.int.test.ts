import { expect, it } from '@jest/globals'
import { createSocket } from 'node:dgram'
import { readdirSync } from 'node:fs'
import { AudioReceiver } from './audio-receiver.js'
import { packetize } from './fixtures/publisher.js'
import { Recorder } from './fixtures/recorder.js'
import { LEVEL_ID, PAYLOAD_TYPE } from './fixtures/rtp.js'
import { makeSound } from './fixtures/voice.js'

const FORMAT = { payloadType: PAYLOAD_TYPE, levelId: LEVEL_ID }

async function until(isTrue: () => boolean, what: () => unknown): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`not within 10 s: ${JSON.stringify(what())}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

it('receives speech on loopback, ends the utterance by itself, and can be closed twice', async () => {
  const receiver = new AudioReceiver(FORMAT)
  const recorder = new Recorder()
  const { ip, port } = await receiver.start(recorder)
  const socket = createSocket('udp4')
  const packets = packetize(makeSound([{ kind: 'voice', ms: 1000 }]), { levels: true })
  for (const { data } of packets) socket.send(data, port, ip)
  await until(
    () => recorder.ends.length > 0,
    () => receiver.counters,
  )
  expect(receiver.counters).toMatchObject({
    packets: packets.length,
    lost: 0,
    utterances: 1,
    decodedFrames: packets.length,
  })
  expect(recorder.spans).toHaveLength(1)
  await Promise.all([receiver.close(), receiver.close()])
  expect(receiver.counters).toMatchObject({ packets: packets.length })
  socket.close()
})

it('the audio that waits for a missing packet arrives when the receiver closes, and none afterwards', async () => {
  const receiver = new AudioReceiver(FORMAT)
  const recorder = new Recorder()
  const { ip, port } = await receiver.start(recorder)
  const socket = createSocket('udp4')
  const packets = packetize(makeSound([{ kind: 'voice', ms: 400 }]), { levels: true }).toSpliced(-3, 1)
  for (const { data } of packets) socket.send(data, port, ip)
  await until(
    () => receiver.counters?.packets === packets.length,
    () => receiver.counters,
  )
  await receiver.close()
  const [span] = recorder.spans
  expect(span![1] - span![0]).toBeGreaterThanOrEqual(380)
  const frames = recorder.frames.length
  socket.send(packets[0]!.data, port, ip)
  await new Promise((resolve) => setImmediate(resolve))
  expect(recorder.frames).toHaveLength(frames)
  socket.close()
})

it('50 receivers that are opened and closed leave no socket', async () => {
  const sockets = (): number => readdirSync('/proc/self/fd').length
  const before = sockets()
  for (let round = 0; round < 5; round++) {
    const receivers = Array.from({ length: 10 }, () => new AudioReceiver(FORMAT))
    const addresses = await Promise.all(receivers.map((receiver) => receiver.start(new Recorder())))
    expect(new Set(addresses.map(({ port }) => port)).size).toBe(10)
    await Promise.all(receivers.map((receiver) => receiver.close()))
  }
  expect(sockets()).toBe(before)
})
