import { readlinkSync } from 'node:fs'
import { descendantsOf, EventSink, startStack, SyntheticParticipant, until, type Stack } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

const PIPELINES = {
  meter: { kind: 'audio', pipeline: 'level name=meter interval=100000000', properties: [] },
}
const METER = { type: 'GStreamerFilter', options: { command: 'meter' } }
const METER_VIEW = { ...METER, options: { command: 'meter', properties: [] }, lastExecMethod: {} }
/** The name of the element's messages. */
const EVENT_TYPE = 'level'

let stack: Stack
let sink: EventSink
const present: SyntheticParticipant[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    masters: 2,
    nodeEnv: { MEDIA_NODE_FILTER_PIPELINES: JSON.stringify(PIPELINES) },
    masterEnv: {
      SERVICE_EDITION: 'pro',
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_ENDPOINT: sink.url,
      SERVICE_WEBHOOK_ALLOWED_ADDRESSES: '["127.0.0.1"]',
    },
  })
})
afterEach(async () => {
  await Promise.all(present.splice(0).map((participant) => participant.close()))
  await until('the programs have ended', () => programs().length === 0)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

interface Meeting {
  id: string
  alice: SyntheticParticipant
  /** A moderator at the other master. */
  bob: SyntheticParticipant
  streamId: string
}

/** A stream of alice with a meter, whose events bob receives. */
async function metered(): Promise<Meeting> {
  const { id } = await stack.api.createSession()
  const mediaserverOptions = { allowedFilters: ['GStreamerFilter'] }
  const own = await stack.api.createConnection(id, { role: 'PUBLISHER', mediaserverOptions })
  const other = await stack.api.createConnection(id, { role: 'MODERATOR' })
  const alice = await SyntheticParticipant.join(stack.atMaster(0, own.token ?? ''), { rejoins: false })
  const bob = await SyntheticParticipant.join(stack.atMaster(1, other.token ?? ''))
  present.push(alice, bob)
  const { streamId } = await alice.publish()
  expect(await alice.call('applyFilter', { streamId, ...METER })).toEqual({ filter: METER_VIEW })
  await bob.call('addFilterEventListener', { streamId, eventType: EVENT_TYPE })
  return { id, alice, bob, streamId }
}

const isMediaProcessor = ({ pid }: { pid: number }): boolean => {
  try {
    return readlinkSync(`/proc/${pid}/exe`) === process.env.MEDIA_PROCESSOR_BIN
  } catch {
    return false
  }
}
const programs = (): number[] =>
  descendantsOf(process.pid)
    .filter(isMediaProcessor)
    .map(({ pid }) => pid)

const shown = async ({ id, alice }: Meeting): Promise<unknown> =>
  (await stack.api.getConnection(id, alice.connectionId)).publishers?.[0]?.mediaOptions.filter

describe('the events of a real filter', () => {
  it('reach the clients with a listener, at another master as well, and the webhook', async () => {
    const meeting = await metered()
    const { id, alice, bob, streamId } = meeting
    const { params } = await bob.waitFor('filterEventDispatched', undefined, 20_000)
    const event = { streamId, connectionId: alice.connectionId, filterType: METER.type, eventType: EVENT_TYPE }
    expect(params).toEqual({ ...event, data: expect.any(String) })
    expect(JSON.parse(params.data)).toMatchObject({ rms: [expect.any(Number), expect.any(Number)] })
    const posted = await until('the webhook receives it', () =>
      sink.ofSession(id).find(({ event: { event: name } }) => name === 'filterEventDispatched'),
    )
    expect(posted.event).toMatchObject({
      ...event,
      participantId: alice.connectionId,
      uniqueSessionId: expect.any(String),
    })
    expect(alice.events.filter(({ method }) => method === 'filterEventDispatched')).toEqual([])
  })

  it('end with the program of the filter, and the plain stream goes on', async () => {
    const meeting = await metered()
    const { alice, bob, streamId } = meeting
    const subscription = await bob.subscribe(streamId)
    await bob.waitFor('filterEventDispatched', undefined, 20_000)
    const [program] = programs()
    process.kill(program ?? 0, 'SIGKILL')
    const { params } = await alice.waitFor('streamPropertyChanged', ({ reason }) => reason === 'filterFailed', 20_000)
    expect(params).toMatchObject({ streamId, changedProperty: 'filter', newValue: {} })
    expect(await shown(meeting)).toEqual({})
    expect(programs()).toEqual([])
    const packets = () => subscription.stats().audio?.packets ?? 0
    const before = packets()
    await until('the plain stream goes on', () => packets() > before + 50)
    await expect(bob.call('removeFilter', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

it('a stream keeps its real filter when it is published again after a lost answer', async () => {
  const meeting = await metered()
  const { alice, bob, streamId } = meeting
  await bob.waitFor('filterEventDispatched', undefined, 20_000)
  const tracks = [AUDIO_TRACK, VIDEO_TRACK]
  await expect(alice.call('publish', { streamId, tracks })).rejects.toMatchObject({ code: 'CONFLICT' })
  const received = () => bob.events.filter(({ method }) => method === 'filterEventDispatched').length
  const before = received()
  await until('the filter is still in force', () => received() > before)
  await alice.call('unpublish', { streamId, keepFilter: true })
  expect(await shown(meeting)).toBeUndefined()
  expect(await alice.call('publish', { streamId, tracks })).toMatchObject({ streamId, filter: METER_VIEW })
  expect(await shown(meeting)).toEqual(METER_VIEW)
  await until('a program runs for it', () => programs().length === 1)
  await bob.call('removeFilter', { streamId })
  expect(await shown(meeting)).toEqual({})
})

const AUDIO_TRACK = {
  kind: 'audio' as const,
  rtpParameters: {
    mid: '7',
    codecs: [{ mimeType: 'audio/opus', payloadType: 111, clockRate: 48_000, channels: 2 }],
    encodings: [{ ssrc: 77_777 }],
  },
}
const VIDEO_TRACK = {
  kind: 'video' as const,
  rtpParameters: {
    mid: '8',
    codecs: [{ mimeType: 'video/VP8', payloadType: 101, clockRate: 90_000 }],
    encodings: [{ ssrc: 88_888 }],
  },
}
