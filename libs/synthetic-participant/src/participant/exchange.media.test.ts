import { until } from '@session-service/local-stack'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { BareSfu } from '../sfu/bare-sfu.js'
import { SignallingClient } from '../signalling/signalling-client.js'
import type { Subscription } from '../tracks/subscription.js'
import { ownCertificate } from '../transport/dtls.js'
import { MediaExchange } from './exchange.js'
import { SyntheticParticipant } from './participant.js'

let sfu: BareSfu
beforeEach(async () => {
  sfu = await BareSfu.start()
})
afterEach(() => sfu.stop())

async function mediaFlows(subscription: Subscription): Promise<void> {
  const before = subscription.stats().video?.packets ?? 0
  await until('media flows', () => (subscription.stats().video?.packets ?? 0) > before)
}

it('subscribes on resume to a stream that has appeared while there was no socket', async () => {
  const [ann, bob] = [await SyntheticParticipant.join(sfu.token()), await SyntheticParticipant.join(sfu.token())]
  const { streamId } = await ann.publish()
  const subscription = await bob.subscribe(streamId)
  await mediaFlows(subscription)
  const { connectionId } = ann
  sfu.peers.get(bob.connectionId)?.notify('streamDestroyed', { streamId, connectionId, reason: 'mediaServerReconnect' })
  await bob.waitFor('streamDestroyed')
  await bob.call('unsubscribe', { streamId })
  bob.dropSocket()
  await bob.resume()
  await mediaFlows(subscription)
  await Promise.all([ann.close(), bob.close()])
})

it('repeats a subscription whose tracks came and then could not be resumed', async () => {
  const ann = await SyntheticParticipant.join(sfu.token())
  const { streamId } = await ann.publish()
  const socket = await SignallingClient.open(sfu.token())
  let isLost = false
  const exchange = new MediaExchange(await socket.join(), await ownCertificate(), (method, params) =>
    isLost && method === 'changeSubscription'
      ? Promise.reject(new Error('the socket is lost'))
      : socket.request(method, params),
  )
  const subscription = await exchange.subscribe(streamId)
  await mediaFlows(subscription)
  exchange.interrupted(streamId)
  await socket.request('unsubscribe', { streamId })
  isLost = true
  await expect(exchange.appeared(streamId)).rejects.toThrow('the socket is lost')
  isLost = false
  await exchange.appeared(streamId)
  await mediaFlows(subscription)
  exchange.close()
  await Promise.all([ann.close(), socket.close()])
})

it('replaces a subscription that a call of before the loss has made on the new media', async () => {
  const ann = await SyntheticParticipant.join(sfu.token())
  const { streamId } = await ann.publish()
  // To the SFU the two sockets are two participants; to the exchange they are the media before and after a loss.
  const [former, current] = [await SignallingClient.open(sfu.token()), await SignallingClient.open(sfu.token())]
  const [joined, rejoined] = [await former.join(), await current.join()]
  let socket = former
  const exchange = new MediaExchange(joined, await ownCertificate(), (method, params) => socket.request(method, params))
  const subscription = await exchange.subscribe(streamId)
  await mediaFlows(subscription)
  exchange.lost()
  socket = current
  const { routerRtpCapabilities: rtpCapabilities } = rejoined
  await current.request('subscribe', { streamId, rtpCapabilities })
  const before = subscription.stats().video?.packets ?? 0
  await exchange.renew(rejoined)
  await until('media flows again', () => (subscription.stats().video?.packets ?? 0) > before)
  exchange.close()
  await Promise.all([ann.close(), former.close(), current.close()])
})
