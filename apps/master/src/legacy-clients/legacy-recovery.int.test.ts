import { startStack, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { V2Socket } from './fixtures/v2-socket.js'
import { offerOf } from './sdp/fixtures/sdp-files.js'

const PREFIX = 'legacy'
const OFFER = offerOf('chromium-simulcast')
const PUBLICATION = { sdpOffer: OFFER, hasAudio: true, hasVideo: true, audioActive: true, videoActive: true }
/** `goingAway`: the library reconnects, and renews what it has lost. */
const CLOSED = 1001
const ECHO_INTERVAL_MS = 1_000

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ masters: 2, masterEnv: { SERVICE_COMPAT_PREFIX: PREFIX } })
})
afterAll(() => stack.stop())

async function open(master: number, sessionId: string): Promise<V2Socket> {
  const client = await V2Socket.open(stack.masterUrls[master] ?? '', `/${PREFIX}?sessionId=${sessionId}`)
  client.keepAlive()
  return client
}

async function join(sessionId: string) {
  const { id, token } = await stack.api.createConnection(sessionId, { role: 'PUBLISHER' })
  const client = await open(0, sessionId)
  const { sessionId: key } = await client.join(token ?? '')
  return { client, id, key }
}

const streamsOf = async (sessionId: string): Promise<string[]> =>
  (await stack.api.getSession(sessionId)).connections.content
    .flatMap(({ publishers }) => publishers ?? [])
    .map(({ streamId }) => streamId)

it('lost media of old clients is renewed after the end of the sockets of publishers, at any master', async () => {
  const { id: sessionId } = await stack.api.createSession()
  const [ada, bob, viewer] = [await join(sessionId), await join(sessionId), await join(sessionId)]
  const renewing = await join(sessionId)
  const publishers = [ada, bob, renewing]
  const published = await Promise.all(publishers.map(({ client }) => client.call('publishVideo', PUBLICATION)))
  const [adas = '', bobs = ''] = published.map(({ id }) => String(id))
  for (const sender of [adas, bobs]) await viewer.client.call('prepareReceiveVideoFrom', { sender, reconnect: false })
  const [node] = stack.nodes
  await stack.addNode()
  // As the library does before it renews a stream by itself.
  const echoes = setInterval(() => void renewing.client.call('echo', {}).catch(() => undefined), ECHO_INTERVAL_MS)
  void renewing.client.closed.then(() => clearInterval(echoes))
  node?.kill('SIGKILL')
  expect(await Promise.all([ada, bob].map(({ client }) => client.closed))).toEqual([CLOSED, CLOSED])
  expect(await streamsOf(sessionId)).toEqual([])
  viewer.client.cut()
  const again = await Promise.all([0, 1, 1].map((master) => open(master, sessionId)))
  const [adaAgain, bobAgain, viewerAgain] = again as [V2Socket, V2Socket, V2Socket]
  await viewerAgain.call('connect', { sessionId: viewer.key, reconnect: true })
  await adaAgain.call('connect', { sessionId: ada.key, reconnect: true })
  await bobAgain.call('connect', { sessionId: bob.key, reconnect: true })
  expect(renewing.client.isOpen).toBe(true)
  clearInterval(echoes)
  for (const [client, stream] of [
    [adaAgain, adas],
    [bobAgain, bobs],
  ] as const)
    expect(await client.call('reconnectStream', { stream, sdpString: OFFER })).toMatchObject({
      id: stream,
      sdpAnswer: expect.stringContaining('a=candidate'),
    })
  expect((await streamsOf(sessionId)).toSorted()).toEqual([adas, bobs].toSorted())
  await until('the viewer renews both streams', () => viewerAgain.all('forciblyReconnectSubscriber').length === 2)
  const renewed = viewerAgain.all('forciblyReconnectSubscriber').map(({ streamId }) => String(streamId))
  expect(renewed.toSorted()).toEqual([adas, bobs].toSorted())
  for (const client of [adaAgain, bobAgain, viewerAgain]) {
    expect(client.all('participantPublished')).toEqual([])
    expect(client.all('participantUnpublished')).toEqual([])
    expect(client.isOpen).toBe(true)
    await client.close()
  }
  expect(await renewing.client.closed).toBe(CLOSED)
  const strange = await join(sessionId)
  await expect(
    strange.client.call('reconnectStream', { stream: `str_CAM_none_${strange.id}`, sdpString: OFFER }),
  ).rejects.toMatchObject({ code: 105 })
  await strange.client.close()
}, 60_000)
