import { startStack, SyntheticParticipant, until, type Stack } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'

let stack: Stack
const present: SyntheticParticipant[] = []
beforeAll(async () => void (stack = await startStack({ masters: 2 })))
afterEach(async () => void (await Promise.all(present.splice(0).map((participant) => participant.close()))))
afterAll(() => stack.stop())

const SMALL = { width: 320, height: 180 }

/** Alice publishes a stream that bob, at the other master, receives. */
async function meeting() {
  const { id } = await stack.api.createSession()
  const [own, other] = [await stack.api.createConnection(id), await stack.api.createConnection(id)]
  const alice = await SyntheticParticipant.join(stack.atMaster(0, own.token ?? ''))
  const bob = await SyntheticParticipant.join(stack.atMaster(1, other.token ?? ''))
  present.push(alice, bob)
  const { streamId } = await alice.publish()
  await bob.waitFor('streamCreated')
  const received = await bob.subscribe(streamId)
  await until('bob receives the stream', () => received.stats().video?.width === 640)
  return { id, alice, bob, streamId, received }
}

it('a subscriber receives the replaced tracks of a publisher, and no stream ends or begins', async () => {
  const { id, alice, bob, streamId, received } = await meeting()
  const connections = async (): Promise<unknown> => (await stack.rest('GET', `/sessions/${id}/connection`)).body
  const before = await connections()
  const events = bob.events.length
  const { audio } = received.stats()
  await alice.replaceMedia(streamId, SMALL)
  await until('bob receives the smaller video', () => received.stats().video?.width === SMALL.width)
  await until('bob receives more audio', () => (received.stats().audio?.packets ?? 0) > (audio?.packets ?? 0) + 20)
  expect(
    bob.events
      .slice(events)
      .map(({ method }) => method)
      .filter((method) => method !== 'layersChanged'),
  ).toEqual(['subscriptionReplaced'])
  expect(await connections()).toEqual(before)
  expect(alice.violations).toEqual([])
})

it('a publisher mutes and ends a stream after it has replaced its tracks', async () => {
  const { alice, bob, streamId, received } = await meeting()
  await alice.replaceMedia(streamId, SMALL)
  await until('bob receives the smaller video', () => received.stats().video?.width === SMALL.width)
  await alice.changeStream(streamId, { videoActive: false })
  await bob.waitFor('streamPropertyChanged', ({ changedProperty }) => changedProperty === 'videoActive')
  await alice.changeStream(streamId, { videoActive: true })
  const frames = received.stats().video?.frames ?? 0
  await until('bob receives more pictures', () => (received.stats().video?.frames ?? 0) > frames + 5)
  await alice.unpublish(streamId)
  await bob.waitFor('streamDestroyed', (stream) => stream.streamId === streamId)
})
