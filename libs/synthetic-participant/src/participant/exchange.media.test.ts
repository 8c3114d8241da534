import { until } from '@session-service/local-stack'
import { afterEach, beforeEach, it } from '@jest/globals'
import { BareSfu } from '../sfu/bare-sfu.js'
import { SignallingClient } from '../signalling/signalling-client.js'
import { ownCertificate } from '../transport/dtls.js'
import { MediaExchange } from './exchange.js'
import { SyntheticParticipant } from './participant.js'

let sfu: BareSfu
beforeEach(async () => {
  sfu = await BareSfu.start()
})
afterEach(() => sfu.stop())

it('replaces a subscription that a call of before the loss has made on the new media', async () => {
  const ann = await SyntheticParticipant.join(sfu.token())
  const { streamId } = await ann.publish()
  // To the SFU the two sockets are two participants; to the exchange they are the media before and after a loss.
  const [former, current] = [await SignallingClient.open(sfu.token()), await SignallingClient.open(sfu.token())]
  const [joined, rejoined] = [await former.join(), await current.join()]
  let socket = former
  const exchange = new MediaExchange(joined, await ownCertificate(), (method, params) => socket.request(method, params))
  const subscription = await exchange.subscribe(streamId)
  await until('media flows', () => (subscription.stats().video?.packets ?? 0) > 0)
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
