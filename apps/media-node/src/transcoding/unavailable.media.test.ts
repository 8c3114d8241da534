import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { registry } from '@session-service/server-kit'
import { audioTrack, publication, videoTrack } from '../rooms/fixtures/samples.js'
import { TranscodingTestbed } from './fixtures/testbed.js'

const VP8_SESSION = { videoCodec: 'VP8', allowTranscoding: true } as const
const PROGRAM = process.env.MEDIA_PROCESSOR_BIN
const H264 = { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 }

let testbed: TranscodingTestbed
afterEach(() => testbed.reset())
afterAll(() => {
  process.env.MEDIA_PROCESSOR_BIN = PROGRAM
})

describe('with a program that does not start', () => {
  beforeAll(async () => {
    process.env.MEDIA_PROCESSOR_BIN = '/bin/false'
    testbed = await TranscodingTestbed.start()
  })
  afterAll(() => testbed.stop())

  const failures = async (): Promise<number> => {
    const text = await registry.getSingleMetricAsString('session_service_transcoding_failures_total')
    return Number(/cause="failed"\} (\d+)/.exec(text)?.[1] ?? 0)
  }

  it('a subscriber keeps the audio, the program is started again and again, and nothing is left', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await until('three attempts have failed', async () => (await failures()) >= 3, 20_000)
    const before = subscriber.audioPackets
    await until('audio arrives', () => subscriber.audioPackets > before + 20)
    expect(subscriber.pictures).toEqual([])
    await publisher.leave()
    expect(testbed.count).toBe(0)
  })
})

describe('without a program', () => {
  beforeAll(async () => {
    delete process.env.MEDIA_PROCESSOR_BIN
    testbed = await TranscodingTestbed.start()
  })
  afterAll(() => testbed.stop())

  it('a subscriber that cannot decode the video gets its audio, and other codecs than the forced one are refused', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    expect((await testbed.subscribe(publisher, ['H264'])).kinds).toEqual(['audio'])
    const tracks = [audioTrack(), videoTrack('video/H264', H264)]
    const refused = testbed.stack.service.publish(publication(publisher.room.id, 'first', 'own', tracks))
    await expect(refused).rejects.toMatchObject({
      code: 'CODEC_REFUSED',
      message: expect.stringContaining('this media node cannot transcode'),
    })
  })
})
