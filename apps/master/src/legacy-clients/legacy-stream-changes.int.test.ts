import type { NodeCommand, NodeCommandCall } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { changes, PNG, PNG_VIEW, publish } from '../filters/fixtures/filter-testbed.js'
import { LegacyTestbed, type V2Member } from './fixtures/legacy-testbed.js'
import { offerOf } from './sdp/fixtures/sdp-files.js'

const REGION = { x: 0, y: 0, width: 0.5, height: 0.5 }
/** The library sends options and parameters as text. */
const BLUR = { type: 'BlurFilter', options: JSON.stringify({ regions: [REGION] }) }
const BLUR_VIEW = { type: 'BlurFilter', options: { regions: [REGION], strength: 0.5 }, lastExecMethod: {} }
const EXECUTED = { method: 'setStrength', params: { strength: 0.9 } }

let testbed: LegacyTestbed
beforeAll(async () => {
  testbed = await LegacyTestbed.start({ SERVICE_EDITION: 'pro' })
})
afterEach(() => {
  testbed.node.commands.length = 0
})
afterAll(() => testbed.stop())

const last = <C extends NodeCommand>(command: C): NodeCommandCall<C> =>
  testbed.node.callsOf(command).at(-1) as NodeCommandCall<C>

const filtersOf = ({ client }: V2Member): [reason: unknown, newValue: unknown][] =>
  client
    .all('streamPropertyChanged')
    .filter(({ property }) => property === 'filter')
    .map(({ reason, newValue }) => [reason, newValue])

const shownIn = ({ result }: V2Member): unknown[] =>
  (result.value as { streams?: { filter?: unknown }[] }[]).flatMap(({ streams = [] }) =>
    streams.map(({ filter }) => filter),
  )

/** A native publisher, and a moderator and a viewer with clients of version 2. */
async function meeting() {
  const session = await testbed.session()
  const { id, client } = await testbed.joinNatively(session.id)
  const alice = { id, client, token: '', resumeKey: '' }
  const streamId = await publish(alice)
  const moderator = await testbed.join(session.id, { master: 1 })
  const viewer = await testbed.join(session.id, { role: 'SUBSCRIBER' })
  return { ...session, alice, streamId, moderator, viewer }
}

/** Publishes a camera as the library does. */
const publishVideo = ({ client }: V2Member, filter?: object): Promise<Record<string, unknown>> =>
  client.call('publishVideo', {
    sdpOffer: offerOf('chromium-simulcast'),
    hasAudio: true,
    hasVideo: true,
    audioActive: true,
    videoActive: true,
    typeOfVideo: 'CAMERA',
    frameRate: 30,
    videoDimensions: '{"width":640,"height":480}',
    doLoopback: false,
    ...(filter && { filter }),
  })

describe('a filter that a client of version 2 uses', () => {
  it('is applied, changed and removed, and the others are notified as their libraries read it', async () => {
    const { id, alice, streamId, moderator, viewer } = await meeting()
    expect(await moderator.client.call('applyFilter', { streamId, ...BLUR })).toEqual({})
    expect(last('applyFilter').filter).toMatchObject({ type: 'BlurFilter', options: BLUR_VIEW.options })
    const exec = { streamId, method: EXECUTED.method, params: JSON.stringify(EXECUTED.params) }
    expect(await moderator.client.call('execFilterMethod', exec)).toEqual({})
    expect(last('execFilterMethod')).toMatchObject(EXECUTED)
    const late = await testbed.join(id)
    const executed = { ...BLUR_VIEW, lastExecMethod: EXECUTED }
    expect(shownIn(late)).toEqual([executed])
    expect(await moderator.client.call('removeFilter', { streamId })).toEqual({})
    const expected = [
      ['applyFilter', BLUR_VIEW],
      ['execFilterMethod', executed],
      ['removeFilter', {}],
    ]
    await until('the viewer is notified of all', () => filtersOf(viewer).length === 3)
    expect(filtersOf(viewer)).toEqual(expected)
    expect(viewer.client.all('streamPropertyChanged')[0]).toMatchObject({ connectionId: alice.id, streamId })
    await until('the native publisher is notified of all', () => changes(alice).length === 3)
    expect(changes(alice)).toEqual(expected)
    // The library raises the event of the caller itself.
    expect(filtersOf(moderator)).toEqual([])
    await Promise.all([moderator, viewer, late].map(({ client }) => client.close()))
  })

  it('may be part of its publication, and ends with a notification when its program fails', async () => {
    const { id, roomId } = await testbed.session()
    const [publisher, viewer] = [await testbed.join(id), await testbed.join(id, { master: 1 })]
    const options = { image: `data:image/png;base64,${PNG}`, alpha: 0.5 }
    const { id: streamId } = await publishVideo(publisher, { type: 'ImageOverlayFilter', options })
    const { filter } = last('publish')
    expect(filter).toMatchObject({ type: 'ImageOverlayFilter', options: { image: PNG, alpha: 0.5 } })
    const view = { type: 'ImageOverlayFilter', options: { image: PNG_VIEW, alpha: 0.5 } }
    expect(await viewer.client.notified('participantPublished')).toMatchObject({
      id: publisher.id,
      streams: [{ id: streamId, filter: view }],
    })
    const ended = { kind: 'filterEnded', epoch: 1, reason: 'the program exited' } as const
    const stream = { connectionId: publisher.id, streamId: String(streamId), filterId: filter?.filterId ?? '' }
    await testbed.node.reportFilter({ ...ended, ...stream, roomId })
    for (const member of [publisher, viewer]) {
      await until('the end of the filter', () => filtersOf(member).length === 1)
      expect(filtersOf(member)).toEqual([['filterFailed', {}]])
    }
    // The publisher may use another one now.
    expect(await publisher.client.call('applyFilter', { streamId, ...BLUR })).toEqual({})
    await until('the new filter', () => filtersOf(viewer).length === 2)
    await Promise.all([publisher.client.close(), viewer.client.close()])
  })

  it('is refused with the codes of version 2', async () => {
    const { streamId, moderator, viewer } = await meeting()
    const refused = (member: V2Member, method: string, params: object, code: number) =>
      expect(member.client.call(method, { streamId, ...params })).rejects.toMatchObject({ code })
    await refused(viewer, 'applyFilter', BLUR, 401)
    await refused(moderator, 'applyFilter', { ...BLUR, options: '{"strength":7}' }, 405)
    await refused(moderator, 'applyFilter', { ...BLUR, options: 'no object' }, 405)
    await refused(moderator, 'applyFilter', { ...BLUR, streamId: 'str_none' }, 105)
    await refused(moderator, 'removeFilter', {}, 105)
    await moderator.client.call('applyFilter', { streamId, ...BLUR })
    await refused(moderator, 'applyFilter', BLUR, 999)
    await refused(moderator, 'execFilterMethod', { method: 'unknown', params: '{}' }, 405)
    await refused(viewer, 'removeFilter', {}, 401)
    await Promise.all([moderator.client.close(), viewer.client.close()])
  })
})

describe('a track that a client of version 2 replaces', () => {
  it('is notified with the label of its device, and changes no property of the stream for native clients', async () => {
    const { id } = await testbed.session()
    const [publisher, viewer] = [await testbed.join(id), await testbed.join(id, { master: 1 })]
    const native = await testbed.joinNatively(id)
    const change = { property: 'videoTrack', newValue: { label: 'Camera 2' }, reason: 'trackReplaced' }
    const unpublished = publisher.client.call('streamPropertyChanged', { streamId: 'str_none', ...change })
    await expect(unpublished).rejects.toMatchObject({ code: 105 })
    const { id: streamId } = await publishVideo(publisher)
    expect(await publisher.client.call('streamPropertyChanged', { streamId, ...change })).toEqual({})
    await publisher.client.call('streamPropertyChanged', { streamId, ...change, property: 'audioTrack' })
    await viewer.client.notified('streamPropertyChanged', 1)
    expect(viewer.client.all('streamPropertyChanged')).toEqual(
      ['videoTrack', 'audioTrack'].map((property) => ({
        connectionId: publisher.id,
        streamId,
        property,
        newValue: '{"label":"Camera 2"}',
        reason: 'trackReplaced',
      })),
    )
    const replaced = { streamId, connectionId: publisher.id, label: 'Camera 2' }
    await until('the native client is notified', () => native.client.received('trackReplaced').length === 2)
    expect(native.client.received('trackReplaced')[0]).toEqual({ ...replaced, kind: 'video' })
    expect(native.client.received('streamPropertyChanged')).toEqual([])
    expect(publisher.client.all('streamPropertyChanged')).toEqual([])
    await Promise.all([publisher, viewer, native].map(({ client }) => client.close()))
  })
})

describe('a property that a client of version 2 changes', () => {
  it('is notified with the reason of its library, or with the usual one of the property', async () => {
    const { id } = await testbed.session()
    const [publisher, viewer] = [await testbed.join(id), await testbed.join(id, { master: 1 })]
    const { id: streamId } = await publishVideo(publisher)
    const resize = (width: number, reason: string) => {
      const newValue = JSON.stringify({ width, height: 480 })
      return publisher.client.call('streamPropertyChanged', { streamId, property: 'videoDimensions', newValue, reason })
    }
    expect(await resize(1_280, 'screenResized')).toEqual({})
    await resize(800, 'deviceRotated')
    await resize(320, 'a reason of the application')
    await viewer.client.notified('streamPropertyChanged', 2)
    expect(viewer.client.all('streamPropertyChanged').map(({ reason }) => reason)).toEqual([
      'screenResized',
      'deviceRotated',
      'deviceRotated',
    ])
    await Promise.all([publisher.client.close(), viewer.client.close()])
  })
})

describe('the events of a filter', () => {
  it('reach clients of version 2 while they listen, also on a new socket at another master', async () => {
    const { id, roomId, alice, streamId, moderator, viewer } = await meeting()
    const gain = { type: 'AudioGainFilter', options: '{"gain":3}' }
    await moderator.client.call('applyFilter', { streamId, ...gain })
    const { filterId } = last('applyFilter').filter
    const event = { streamId, connectionId: alice.id, filterType: 'AudioGainFilter', eventType: 'level' }
    const dispatch = (data: string) =>
      testbed.node.reportFilter({ kind: 'filterEvent', roomId, epoch: 1, filterId, event: { ...event, data } })
    const listen = { streamId, eventType: 'level' }
    expect(await moderator.client.call('addFilterEventListener', listen)).toEqual({})
    await dispatch('1')
    expect(await moderator.client.notified('filterEventDispatched')).toEqual({ ...event, data: '1' })
    moderator.client.cut()
    const again = await testbed.open(id)
    await again.call('connect', { sessionId: moderator.result.sessionId, reconnect: true })
    await dispatch('2')
    expect(await again.notified('filterEventDispatched')).toEqual({ ...event, data: '2' })
    expect(await again.call('removeFilterEventListener', listen)).toEqual({})
    await dispatch('3')
    await again.call('addFilterEventListener', listen)
    await dispatch('4')
    expect(await again.notified('filterEventDispatched', 1)).toEqual({ ...event, data: '4' })
    expect(viewer.client.all('filterEventDispatched')).toEqual([])
    await Promise.all([again.close(), viewer.client.close()])
  })
})
