import { until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { changes, FilterTestbed, type Member, PNG, PNG_VIEW, publish, VIDEO_TRACK } from './fixtures/filter-testbed.js'

jest.setTimeout(120_000)

const GAIN = { type: 'AudioGainFilter', options: { gain: 3 } }
const GAIN_VIEW = { ...GAIN, lastExecMethod: {} }

let testbed: FilterTestbed
beforeAll(async () => {
  testbed = await FilterTestbed.start()
})
afterAll(() => testbed.stop())

interface Filtered {
  id: string
  alice: Member
  bob: Member
  streamId: string
  report: { roomId: string; epoch: number; filterId: string }
}

/** A stream of alice with a filter that bob, a moderator at the other master, has applied. */
async function filtered(): Promise<Filtered> {
  const id = await testbed.session()
  const alice = await testbed.join(id, 'PUBLISHER')
  const bob = await testbed.join(id, 'MODERATOR', { master: 1 })
  const streamId = await publish(alice)
  await bob.client.request('applyFilter', { streamId, ...GAIN })
  const { roomId, filter } = testbed.last('applyFilter')
  return { id, alice, bob, streamId, report: { roomId, epoch: 1, filterId: filter.filterId } }
}

const fail = async ({ alice, streamId, report }: Filtered): Promise<void> => {
  const fact = { kind: 'filterEnded', connectionId: alice.id, streamId, reason: 'the program exited' } as const
  await testbed.nodes[0]?.reportFilter({ ...fact, ...report })
}

const dispatch = async ({ alice, streamId, report }: Filtered, eventType: string, data: unknown): Promise<void> => {
  const event = { streamId, connectionId: alice.id, filterType: 'AudioGainFilter', eventType }
  await testbed.nodes[0]?.reportFilter({
    kind: 'filterEvent',
    ...report,
    event: { ...event, data: JSON.stringify(data) },
  })
}

describe('a filter whose program fails', () => {
  it('is removed once, and all clients are notified', async () => {
    const stream = await filtered()
    const { id, alice, bob, streamId } = stream
    await fail(stream)
    await fail(stream)
    expect(await testbed.shown(id, alice)).toEqual({})
    await bob.client.request('applyFilter', { streamId, ...GAIN })
    await until('the last change', () => changes(alice).length >= 3)
    const expected = ['filterFailed', {}]
    expect(changes(alice)).toEqual([['applyFilter', GAIN_VIEW], expected, ['applyFilter', GAIN_VIEW]])
    expect(changes(bob)).toEqual([expected])
  })

  it('leaves a filter that was applied later in force', async () => {
    const stream = await filtered()
    const { id, alice, bob, streamId } = stream
    await bob.client.request('removeFilter', { streamId })
    await bob.client.request('applyFilter', { streamId, ...GAIN })
    await fail(stream)
    expect(await testbed.shown(id, alice)).toEqual(GAIN_VIEW)
  })
})

describe('an event of a filter', () => {
  const ofFilter = (id: string) =>
    testbed.sink.ofSession(id).filter(({ event }) => event.event === 'filterEventDispatched')
  const received = ({ client }: Member) => client.received('filterEventDispatched').map(({ data }) => data)

  it('reaches the clients with a listener and the webhook, also after a client resumed at another master', async () => {
    const stream = await filtered()
    const { id, alice, bob, streamId } = stream
    const carol = await testbed.join(id, 'MODERATOR')
    for (const { client } of [bob, carol]) {
      await client.request('addFilterEventListener', { streamId, eventType: 'level' })
      await client.request('addFilterEventListener', { streamId, eventType: 'level' })
    }
    await dispatch(stream, 'level', 1)
    await dispatch(stream, 'other', 2)
    await until('both clients', () => received(bob).length + received(carol).length === 2)
    carol.client.terminate()
    const client = await testbed.stack.openSocket(testbed.stack.atMaster(1, carol.token))
    await client.request('resume', { connectionId: carol.id, resumeKey: carol.resumeKey })
    await bob.client.request('removeFilterEventListener', { streamId, eventType: 'level' })
    await dispatch(stream, 'level', { peak: -3 })
    const event = { streamId, connectionId: alice.id, filterType: 'AudioGainFilter', eventType: 'level' }
    expect(await client.waitFor('filterEventDispatched')).toEqual({ ...event, data: '{"peak":-3}' })
    await until('the webhook', () => ofFilter(id).length === 2)
    expect(ofFilter(id).map((one) => one.event)).toEqual(
      ['1', '{"peak":-3}'].map((data) => ({
        ...{ event: 'filterEventDispatched', sessionId: id, uniqueSessionId: stream.report.roomId },
        ...{ timestamp: expect.any(Number), participantId: alice.id, ...event, data },
      })),
    )
    expect([received(alice), received(bob)]).toEqual([[], ['1']])
  })

  it('is not recorded without a listener, after the filter has ended, or from an earlier filter', async () => {
    const stream = await filtered()
    const { id, bob, streamId } = stream
    await dispatch(stream, 'level', 1)
    await bob.client.request('addFilterEventListener', { streamId, eventType: 'level' })
    await bob.client.request('removeFilter', { streamId })
    await dispatch(stream, 'level', 2)
    await bob.client.request('applyFilter', { streamId, ...GAIN })
    await dispatch(stream, 'level', 3)
    await bob.client.request('addFilterEventListener', { streamId, eventType: 'level' })
    await dispatch(stream, 'level', 4)
    const { filterId } = testbed.last('applyFilter').filter
    await dispatch({ ...stream, report: { ...stream.report, filterId } }, 'level', 5)
    await until('the last event', () => ofFilter(id).length > 0)
    expect(ofFilter(id).map(({ event }) => event.data)).toEqual(['5'])
    expect(received(bob)).toEqual(['5'])
  })

  it('has a limited number of types with a listener', async () => {
    const { bob, streamId } = await filtered()
    const listen = (nth: number) => bob.client.request('addFilterEventListener', { streamId, eventType: `type${nth}` })
    for (let nth = 0; nth < 32; nth++) await listen(nth)
    await expect(listen(32)).rejects.toMatchObject({ code: 'OUT_OF_RANGE' })
    await listen(31)
  })
})

const rows = (streamId: string): Promise<unknown[]> =>
  testbed.stack.postgres.query('SELECT 1 FROM stream_filter WHERE stream_id = $1', [streamId])

describe('a second publication', () => {
  it('keeps the filter of the stream when its answer is lost', async () => {
    const { id, alice, bob, streamId } = await filtered()
    await bob.client.request('addFilterEventListener', { streamId, eventType: 'level' })
    await testbed.stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    const call = { streamId, tracks: [SILENT_TRACK, VIDEO_TRACK] }
    await alice.client.request('publish', call)
    alice.client.terminate()
    const client = await testbed.stack.openSocket(testbed.stack.atMaster(1, alice.token))
    await client.request('resume', { connectionId: alice.id, resumeKey: alice.resumeKey })
    await expect(client.request('publish', call)).rejects.toMatchObject({ code: 'CONFLICT' })
    await client.request('unpublish', { streamId, keepFilter: true })
    expect(await testbed.shown(id, alice)).toBeUndefined()
    expect(await client.request('publish', call)).toMatchObject({ streamId, filter: GAIN_VIEW })
    expect(await testbed.shown(id, alice)).toEqual(GAIN_VIEW)
    const { roomId, filter } = testbed.last('publish')
    expect(filter).toMatchObject(GAIN)
    const report = { roomId, epoch: 1, filterId: filter?.filterId ?? '' }
    await dispatch({ id, alice, bob, streamId, report }, 'level', 1)
    expect(await bob.client.waitFor('filterEventDispatched')).toMatchObject({ data: '1' })
    await client.request('unpublish', { streamId })
    expect(await rows(streamId)).toEqual([])
  })

  it('leaves the filter of the first one in force when it is refused', async () => {
    const { alice, bob, streamId, report } = await filtered()
    const tracks = [SILENT_TRACK, VIDEO_TRACK]
    await expect(alice.client.request('publish', { streamId, tracks })).rejects.toMatchObject({ code: 'CONFLICT' })
    await bob.client.request('removeFilter', { streamId })
    expect(testbed.last('removeFilter').filterId).toBe(report.filterId)
  })

  it('finds a limited number of filters that wait for it', async () => {
    const id = await testbed.session()
    const alice = await testbed.join(id, 'MODERATOR')
    const kept: string[] = []
    for (let nth = 0; nth < 9; nth++) {
      const streamId = await publish(alice)
      await alice.client.request('applyFilter', { streamId, ...GAIN })
      await alice.client.request('unpublish', { streamId, keepFilter: true })
      if ((await rows(streamId)).length > 0) kept.push(streamId)
    }
    expect(kept).toHaveLength(8)
  })
})

describe('after a loss of the media', () => {
  it('a stream gets its filter as it was last, with the same listeners, and so does a camera', async () => {
    const stream = await filtered()
    const { id, alice, bob, streamId } = stream
    const camera = await testbed.stack.rest('POST', `/sessions/${id}/connection`, {
      type: 'IPCAM',
      rtspUri: 'rtsp://192.0.2.7/1',
    })
    const { streamId: ofCamera, connectionId: cameraId } = testbed.last('startCamera')
    expect(camera.status).toBe(200)
    expect(testbed.last('startCamera')).not.toHaveProperty('filter')
    const overlay = { type: 'ImageOverlayFilter', options: { image: PNG } }
    await bob.client.request('applyFilter', { streamId: ofCamera, ...overlay })
    await bob.client.request('execFilterMethod', { streamId: ofCamera, method: 'setAlpha', params: { alpha: 0.25 } })
    await bob.client.request('execFilterMethod', { streamId, method: 'setGain', params: { gain: -7 } })
    await bob.client.request('addFilterEventListener', { streamId, eventType: 'level' })
    const [north] = testbed.nodes
    const south = await testbed.addNode('south')
    await until('the node is registered', async () => {
      return (await testbed.stack.rest('GET', '/media-nodes/south')).status === 200
    })
    await north?.kill()
    await alice.client.waitFor('mediaLost')

    await until('the camera is started on the other node', () => south.callsOf('startCamera').length > 0)
    expect(testbed.last('startCamera', south)).toMatchObject({
      streamId: ofCamera,
      filter: { type: 'ImageOverlayFilter', options: { image: PNG, alpha: 0.25, width: 1 } },
    })
    const cameraView = {
      type: 'ImageOverlayFilter',
      options: { image: PNG_VIEW, x: 0, y: 0, width: 1, height: 1, alpha: 1 },
      lastExecMethod: { method: 'setAlpha', params: { alpha: 0.25 } },
    }
    await until('the camera is published', async () => (await testbed.shown(id, { id: cameraId })) !== undefined)
    expect(await testbed.shown(id, { id: cameraId })).toEqual(cameraView)

    for (const { client } of [alice, bob]) {
      await until('the client rejoins', () =>
        client.request('rejoin', {}).then(
          () => true,
          () => false,
        ),
      )
    }
    const tracks = [SILENT_TRACK, VIDEO_TRACK]
    const ignored = { type: 'NoiseSuppressionFilter', options: {} }
    const view = { ...GAIN, lastExecMethod: { method: 'setGain', params: { gain: -7 } } }
    const published = await alice.client.request('publish', { streamId, tracks, filter: ignored })
    expect(published).toMatchObject({ streamId, filter: view })
    const { filter } = testbed.last('publish', south)
    expect(filter).toEqual({ filterId: expect.any(String), type: 'AudioGainFilter', options: { gain: -7 } })
    expect(filter?.filterId).not.toBe(stream.report.filterId)
    expect(await testbed.shown(id, alice)).toEqual(view)

    const event = { streamId, connectionId: alice.id, filterType: 'AudioGainFilter', eventType: 'level', data: '1' }
    const report = { kind: 'filterEvent', roomId: stream.report.roomId, epoch: 2, event } as const
    await south.reportFilter({ ...report, filterId: stream.report.filterId })
    await south.reportFilter({ ...report, filterId: filter?.filterId ?? '', event: { ...event, data: '2' } })
    expect(await bob.client.waitFor('filterEventDispatched')).toMatchObject({ data: '2' })
    await bob.client.request('removeFilter', { streamId })
    expect(testbed.last('removeFilter', south)).toMatchObject({ streamId, filterId: filter?.filterId })
    expect(await testbed.shown(id, alice)).toEqual({})
  })

  it('the filter of a stream that is not published again ends with unpublish', async () => {
    const id = await testbed.session()
    const alice = await testbed.join(id, 'MODERATOR')
    const streamId = await publish(alice)
    await alice.client.request('applyFilter', { streamId, ...GAIN })
    await testbed.stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    expect(await rows(streamId)).toHaveLength(1)
    await alice.client.request('unpublish', { streamId })
    expect(await rows(streamId)).toEqual([])
  })
})
