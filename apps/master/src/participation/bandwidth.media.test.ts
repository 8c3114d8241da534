/** @quiet The estimate of the bandwidth falls when this process, which plays all clients, is delayed. */
import { startStack, SyntheticParticipant, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/** The bitrate of the publisher's largest layer, and the limits of subscribers, kbps. */
const OFFERED = 900
const GLOBAL = 400
const OWN = 150

let stack: Stack

beforeAll(async () => {
  stack = await startStack({
    masterEnv: {
      SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: '0',
      SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: String(GLOBAL),
      SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: '0',
    },
  })
})
afterAll(() => stack.stop())

/** Subscribes with a participant of each limit, and returns the kbps that they receive once the first one exceeds the others. */
async function receivedKbps(
  join: (limit?: number) => Promise<SyntheticParticipant>,
  streamId: string,
): Promise<number[]> {
  const subscribers = await Promise.all([join(0), join(), join(OWN)])
  try {
    const subscriptions = await Promise.all(subscribers.map((each) => each.subscribe(streamId)))
    const bytes = (): number[] => subscriptions.map((each) => each.stats().video?.bytes ?? 0)
    let before = bytes()
    let from = performance.now()
    return await until(
      'the unlimited subscriber receives more than the limits of the others',
      async () => {
        await until('a window of two seconds', () => performance.now() - from > 2_000)
        const [after, now] = [bytes(), performance.now()]
        const kbps = after.map((value, at) => ((value - (before[at] ?? 0)) * 8) / (now - from))
        before = after
        from = now
        return (kbps[0] ?? 0) > GLOBAL * 1.3 && kbps
      },
      12_000,
    )
  } finally {
    await Promise.all(subscribers.map((each) => each.close()))
  }
}

describe('the bitrate that a subscriber receives', () => {
  it('is limited by its own option, else by the property, and unlimited with 0', async () => {
    const { id } = await stack.api.createSession()
    const join = async (videoMaxRecvBandwidth?: number): Promise<SyntheticParticipant> => {
      const options = videoMaxRecvBandwidth === undefined ? {} : { mediaserverOptions: { videoMaxRecvBandwidth } }
      const { token } = await stack.api.createConnection(id, options)
      return SyntheticParticipant.join(token ?? '', { capacityKbps: 5_000 })
    }
    const publisher = await join()
    const { streamId } = await publisher.publish({ video: true, simulcast: true, kbps: OFFERED })
    // The estimate of a link recovers slowly after a delay of this process: others begin without it.
    const rates = await until('subscribers are measured', () => receivedKbps(join, streamId), 60_000)
    const [, global = Number.NaN, own = Number.NaN] = rates
    expect(global).toBeGreaterThan(0)
    expect(global).toBeLessThan(GLOBAL * 1.3)
    expect(own).toBeGreaterThan(0)
    expect(own).toBeLessThan(OWN * 1.3)
    await stack.api.deleteSession(id)
    await publisher.close()
  })
})
