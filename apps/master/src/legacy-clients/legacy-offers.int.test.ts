import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { V2Socket } from './fixtures/v2-socket.js'
import { answerTo } from './sdp/fixtures/answer-to.js'
import { offerOf } from './sdp/fixtures/sdp-files.js'

const PREFIX = 'legacy'
const OFFER = offerOf('chromium-simulcast')
const PUBLICATION = { sdpOffer: OFFER, hasAudio: true, hasVideo: true, audioActive: true, videoActive: true }

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ masterEnv: { SERVICE_COMPAT_PREFIX: PREFIX } })
})
afterAll(() => stack.stop())

async function join(sessionId: string): Promise<V2Socket> {
  const { token } = await stack.api.createConnection(sessionId, { role: 'PUBLISHER' })
  const client = await V2Socket.open(stack.masterUrl, `/${PREFIX}?sessionId=${sessionId}`)
  await client.join(token ?? '')
  return client
}

/** Two publishers, and a viewer that has the offer of the first one. */
async function meeting() {
  const { id } = await stack.api.createSession()
  const [ada, bob, viewer] = [await join(id), await join(id), await join(id)]
  const [stream, other] = await Promise.all(
    [ada, bob].map(async (client) => String((await client.call('publishVideo', PUBLICATION)).id)),
  )
  const { sdpOffer } = await viewer.call('prepareReceiveVideoFrom', { sender: stream, reconnect: false })
  const renew = () => ada.call('reconnectStream', { stream, sdpString: OFFER })
  const answer = (offer: unknown) => viewer.call('reconnectStream', { stream, sdpString: answerTo(offer) })
  const forced = async (nth: number) => (await viewer.notified('forciblyReconnectSubscriber', nth)).sdpOffer
  const close = () => Promise.all([ada, bob, viewer].map((client) => client.close()))
  return { viewer, stream, other, sdpOffer, renew, answer, forced, close }
}

it('a client gets the offer of renewed media when it has answered the offer before', async () => {
  const { viewer, stream, other, sdpOffer, renew, forced, answer, close } = await meeting()
  await renew()
  // The node has reported the first renewal before it answers the second one, and answers calls in their order.
  await renew()
  await viewer.call('prepareReceiveVideoFrom', { sender: other, reconnect: false })
  expect(viewer.all('forciblyReconnectSubscriber')).toEqual([])
  expect(await viewer.call('receiveVideoFrom', { sender: stream, sdpAnswer: answerTo(sdpOffer) })).toEqual({})
  expect(await answer(await forced(0))).toEqual({})
  await viewer.call('prepareReceiveVideoFrom', { sender: other, reconnect: true })
  expect(viewer.all('forciblyReconnectSubscriber')).toHaveLength(1)
  await close()
})

it('a client that answers an offer which another one has replaced gets a new one', async () => {
  const { viewer, stream, sdpOffer, renew, forced, answer, close } = await meeting()
  await viewer.call('receiveVideoFrom', { sender: stream, sdpAnswer: answerTo(sdpOffer) })
  await renew()
  const late = await forced(0)
  const requested = await viewer.call('prepareReceiveVideoFrom', { sender: stream, reconnect: true })
  // The library answers in the order of its own reconnections.
  expect(await answer(requested.sdpOffer)).toEqual({})
  await expect(answer(late)).rejects.toThrow('another offer has replaced the one that it answers')
  expect(await answer(await forced(1))).toEqual({})
  await close()
})
