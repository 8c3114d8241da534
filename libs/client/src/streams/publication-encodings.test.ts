import { afterEach, describe, expect, it } from '@jest/globals'
import { refused } from '../fixtures/fake-signalling-server.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { type StubSender, StubTrack } from '../fixtures/stub-engine.js'

let testbed: ParticipantTestbed
afterEach(() => testbed.stop())

const limitTo = (maxKbps: number, streamId = 'str_own1'): void =>
  testbed.server.notify('sendLimitChanged', { streamId, maxKbps })

const sender = (engine = 0): StubSender => {
  const [first] = testbed.engines[engine]?.senders ?? []
  if (!first) throw new Error('no video sender exists')
  return first
}
const sends = (kbps: (number | undefined)[], engine = 0): Promise<boolean> =>
  until(`${kbps.join(' ')} kbps`, () => JSON.stringify(sender(engine).kbps) === JSON.stringify(kbps))

describe('a publisher with limited receivers', () => {
  it('applies the lowest limit and its changes until no limit is left', async () => {
    testbed = await ParticipantTestbed.join()
    await testbed.publish({ simulcast: false })
    expect(sender().kbps).toEqual([0])
    limitTo(200)
    await sends([200])
    limitTo(150)
    await sends([150])
    limitTo(0)
    await sends([0])
  })

  it('applies the last of several limits in quick succession', async () => {
    testbed = await ParticipantTestbed.join({}, { maxSendKbps: 500 })
    await testbed.publish({ simulcast: false })
    for (const kbps of [200, 0, 300, 100, 400]) limitTo(kbps)
    await sends([400])
    limitTo(0)
    await sends([500])
  })

  it('applies a limit that arrives before the answer to publish', async () => {
    testbed = await ParticipantTestbed.join()
    testbed.server.answer('publish', () => {
      limitTo(200)
      return { result: { streamId: 'str_own1', createdAt: 3 } }
    })
    await testbed.publish({ simulcast: false })
    await sends([200])
  })

  it('limits only the lowest layer of simulcast', async () => {
    testbed = await ParticipantTestbed.join()
    await testbed.publish()
    const [lowest = 0, highest] = sender().kbps
    expect(lowest).toBeGreaterThan(100)
    limitTo(100)
    await sends([100, highest])
  })

  it("has no limit after the loss of the receivers' media node", async () => {
    testbed = await ParticipantTestbed.join()
    await testbed.publish({ simulcast: false })
    limitTo(200)
    await sends([200])
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    await sends([0], 1)
  })
})

describe('a simulcast publisher whose video size changes', () => {
  /** The layer bit rates that the server received last. */
  const reported = (): unknown =>
    testbed.server
      .calls('changeStream')
      .flatMap(({ params }) => params['layerKbps'] ?? [])
      .slice(-2)
  const track = (width: number, height: number): MediaStreamTrack =>
    Object.assign(new StubTrack('video'), { width, height }) as unknown as MediaStreamTrack
  const scales = (): (number | undefined)[] => sender().encodings.map((encoding) => encoding.scaleResolutionDownBy)

  it('sends a smaller video with the lowest layers, and reports them', async () => {
    testbed = await ParticipantTestbed.join()
    const publisher = await testbed.publish()
    expect(scales()).toEqual([2, 1])
    await publisher.replaceTrack(track(320, 240))
    expect(scales()).toEqual([1, 1])
    expect(sender().kbps).toEqual([161, undefined])
    expect(reported()).toEqual([161, 0])
  })

  it('sends all layers again when the video becomes larger', async () => {
    testbed = await ParticipantTestbed.join()
    const publisher = await testbed.publish()
    await publisher.replaceTrack(track(320, 240))
    await publisher.replaceTrack(track(1280, 720))
    expect(scales()).toEqual([2, 1])
    expect(sender().kbps).toEqual([484, 1935])
    expect(reported()).toEqual([484, 1935])
  })

  it('reports its layers after an outage in which the report failed', async () => {
    testbed = await ParticipantTestbed.join()
    const publisher = await testbed.publish()
    await publisher.replaceTrack(track(320, 240))
    let failures = 2
    testbed.server.answer('changeStream', ({ params }) =>
      params['layerKbps'] && failures-- > 0 ? refused('TIMEOUT')() : { result: {} },
    )
    await publisher.replaceTrack(track(1280, 720))
    const layers = () => testbed.server.calls('changeStream').filter(({ params }) => params['layerKbps']).length
    await testbed.passUntil('the repeated reports', () => layers() === 4)
    expect(reported()).toEqual([484, 1935])
    testbed.clock.pass(60_000)
    await testbed.handled()
    expect(layers()).toBe(4)
  })

  it('adapts to a track that changes its size', async () => {
    testbed = await ParticipantTestbed.join()
    const publisher = await testbed.publish()
    const own = track(640, 480)
    await publisher.replaceTrack(own)
    expect(reported()).toEqual([])
    Object.assign(own, { width: 320, height: 240 })
    await testbed.passUntil(
      'the layers of the smaller picture',
      () => scales()[0] === 1 && testbed.server.calls('changeStream').length > 1,
    )
    expect(scales()).toEqual([1, 1])
    expect(reported()).toEqual([161, 0])
  })
})

it.each([
  ['the minimum of the connection', { minSendKbps: 300 }, 300],
  ['no more than its maximum', { minSendKbps: 300, maxSendKbps: 200 }, 200],
  ['no minimum with 0', { minSendKbps: 0, maxSendKbps: 200 }, 0],
])('requests from the encoder %s', async (_, limits, minKbps) => {
  testbed = await ParticipantTestbed.join({}, limits)
  await testbed.publish()
  expect(testbed.engines[0]?.offered.flat()).toMatchObject([{}, { minKbps }])
})
