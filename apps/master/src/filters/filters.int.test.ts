import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { changes, FilterTestbed, type Member, PNG, PNG_VIEW, publish, VIDEO_TRACK } from './fixtures/filter-testbed.js'

jest.setTimeout(120_000)

const REGION = { x: 0, y: 0, width: 0.5, height: 0.5 }
const BLUR = { type: 'BlurFilter', options: { regions: [REGION] } }
const BLUR_OPTIONS = { regions: [REGION], strength: 0.5 }
const GAIN = { type: 'AudioGainFilter', options: { gain: 3 } }

let testbed: FilterTestbed
beforeAll(async () => {
  testbed = await FilterTestbed.start()
})
afterEach(() => {
  for (const node of testbed.nodes) node.onCommand = () => undefined
})
afterAll(() => testbed.stop())

const refuseFilters = (error: Error): void => {
  for (const node of testbed.nodes)
    node.onCommand = (command) => {
      if (command === 'applyFilter') throw error
    }
}
const code = (expected: string, message?: string) =>
  expect.objectContaining({ code: expected, ...(message && { message: expect.stringContaining(message) }) })

/** A publisher with a stream and a moderator, who joined at another master. */
async function pair(allowedFilters?: string[]): Promise<{ id: string; alice: Member; bob: Member; streamId: string }> {
  const id = await testbed.session()
  const alice = await testbed.join(id, 'PUBLISHER', { ...(allowedFilters && { allowedFilters }) })
  const bob = await testbed.join(id, 'MODERATOR', { master: 1 })
  return { id, alice, bob, streamId: await publish(alice) }
}

describe('applyFilter', () => {
  it('sends the complete options to the media node, and shows the filter to clients and backends without its image', async () => {
    const { id, alice, bob, streamId } = await pair()
    const options = { image: `data:image/png;base64,${PNG}`, alpha: 0.5 }
    const filter = {
      type: 'ImageOverlayFilter',
      options: { image: PNG_VIEW, x: 0, y: 0, width: 1, height: 1, alpha: 0.5 },
      lastExecMethod: {},
    }
    expect(await bob.client.request('applyFilter', { streamId, type: 'ImageOverlayFilter', options })).toEqual({
      filter,
    })
    expect(testbed.last('applyFilter')).toEqual({
      roomId: expect.stringContaining(id),
      connectionId: alice.id,
      streamId,
      filter: {
        filterId: expect.any(String),
        type: 'ImageOverlayFilter',
        options: { image: PNG, x: 0, y: 0, width: 1, height: 1, alpha: 0.5 },
      },
    })
    await until('the publisher is notified', () => changes(alice).length > 0)
    expect(changes(alice)).toEqual([['applyFilter', filter]])
    expect(changes(bob)).toEqual([])
    expect(await testbed.shown(id, alice)).toEqual(filter)
    const carol = await testbed.stack.openSocket((await testbed.stack.api.createConnection(id)).token ?? '')
    const { snapshot } = await carol.join()
    expect(snapshot.streams[0]?.mediaOptions.filter).toEqual(filter)
  })

  it.each<[string, object, string]>([
    ['an unknown type', { type: 'FaceFilter' }, 'type: must be one of ImageOverlayFilter'],
    ['an option out of range', { type: 'AudioGainFilter', options: { gain: 100 } }, 'options.gain:'],
    ['an unknown option', { ...BLUR, options: { ...BLUR.options, colour: 1 } }, '"colour"'],
    ['no image', { type: 'ImageOverlayFilter', options: { image: 'AAAA' } }, 'options.image: must be a PNG or JPEG'],
  ])('rejects %s, and names the field', async (_, filter, message) => {
    const { bob, streamId } = await pair()
    const before = testbed.nodes[0]?.callsOf('applyFilter').length
    await expect(bob.client.requestRaw('applyFilter', { streamId, ...filter })).rejects.toEqual(
      code('INVALID', message),
    )
    expect(testbed.nodes[0]?.callsOf('applyFilter')).toHaveLength(before ?? 0)
  })

  it('rejects a filter for video on a stream without video, and an unknown stream', async () => {
    const { alice, bob, streamId } = await pair()
    const { streamId: sound } = await alice.client.request('publish', { tracks: [SILENT_TRACK] })
    await expect(bob.client.request('applyFilter', { streamId: sound, ...BLUR })).rejects.toEqual(
      code('INVALID', 'type: BlurFilter needs a stream with video'),
    )
    await bob.client.request('applyFilter', { streamId: sound, ...GAIN })
    await bob.client.request('applyFilter', { streamId, ...GAIN })
    await expect(bob.client.request('applyFilter', { streamId: 'str_none', ...GAIN })).rejects.toEqual(
      code('NOT_FOUND'),
    )
  })

  it('is refused to everyone but moderators, and publishers for their allowed filters on their own streams', async () => {
    const { id, alice, streamId } = await pair(['BlurFilter', 'FaceFilter'])
    const dave = await testbed.join(id, 'PUBLISHER', { allowedFilters: ['BlurFilter'] })
    const eve = await testbed.join(id, 'SUBSCRIBER', { allowedFilters: ['BlurFilter'] })
    const apply = ({ client }: Member, filter: typeof BLUR | typeof GAIN) =>
      client.request('applyFilter', { streamId, ...filter })
    await expect(apply(dave, BLUR)).rejects.toEqual(code('NOT_ALLOWED', 'own streams'))
    await expect(apply(eve, BLUR)).rejects.toEqual(code('NOT_ALLOWED', 'SUBSCRIBER'))
    await expect(apply(alice, GAIN)).rejects.toEqual(code('NOT_ALLOWED', 'allowedFilters'))
    await apply(alice, BLUR)
    await expect(eve.client.request('removeFilter', { streamId })).rejects.toEqual(code('NOT_ALLOWED'))
    await expect(dave.client.request('removeFilter', { streamId })).rejects.toEqual(code('NOT_ALLOWED'))
    const exec = { streamId, method: 'setStrength', params: { strength: 1 } }
    await expect(dave.client.request('execFilterMethod', exec)).rejects.toEqual(code('NOT_ALLOWED'))
    const listen = { streamId, eventType: 'level' }
    await expect(dave.client.request('addFilterEventListener', listen)).rejects.toEqual(code('NOT_ALLOWED'))
    await alice.client.request('execFilterMethod', exec)
  })

  it('takes the current role of a participant from the database, also before its master has learned of a change', async () => {
    const { alice, bob, streamId } = await pair()
    const setRole = (role: string, { id }: Member) =>
      testbed.stack.postgres.query('UPDATE connection SET role = $1 WHERE id = $2', [role, id])
    await setRole('PUBLISHER', bob)
    await expect(bob.client.request('applyFilter', { streamId, ...BLUR })).rejects.toEqual(code('NOT_ALLOWED'))
    await setRole('MODERATOR', alice)
    await alice.client.request('applyFilter', { streamId, ...BLUR })
  })

  it('has one winner when two moderators apply filters at once through different masters', async () => {
    const { id, alice, bob, streamId } = await pair()
    const [carol, dave] = [await testbed.join(id, 'MODERATOR'), await testbed.join(id, 'MODERATOR')]
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const node of testbed.nodes) node.onCommand = (command) => (command === 'applyFilter' ? promise : undefined)
    const calls = [bob, carol].map(({ client }) => client.request('applyFilter', { streamId, ...BLUR }))
    const failed = Promise.any(
      calls.map((call) =>
        call.then(
          () => Promise.reject(),
          (error: unknown) => error,
        ),
      ),
    )
    expect(await failed).toEqual(code('CONFLICT'))
    await expect(dave.client.request('removeFilter', { streamId })).rejects.toEqual(code('CONFLICT', 'being started'))
    resolve()
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(bob.client.request('applyFilter', { streamId, ...GAIN })).rejects.toEqual(code('CONFLICT'))
    expect(await testbed.shown(id, alice)).toMatchObject({ type: 'BlurFilter' })
  })

  it('does not delay other calls of the same client', async () => {
    const { bob, streamId } = await pair()
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const node of testbed.nodes) node.onCommand = (command) => (command === 'applyFilter' ? promise : undefined)
    const applied = bob.client.request('applyFilter', { streamId, ...BLUR })
    await bob.client.request('publish', { tracks: [SILENT_TRACK] })
    resolve()
    await applied
  })

  it.each([
    ['DISABLED', 'the media node cannot apply filters'],
    ['NO_CAPACITY', 'the media node is too busy'],
    ['LAUNCH_FAILED', 'the filter did not start'],
    ['INVALID', 'options.command: no such pipeline'],
  ] as const)('passes on %s from the media node, and leaves the stream as it was', async (error, message) => {
    const { id, alice, bob, streamId } = await pair()
    refuseFilters(new ServiceError(error, message))
    await expect(bob.client.request('applyFilter', { streamId, ...BLUR })).rejects.toEqual(code(error, message))
    expect(await testbed.shown(id, alice)).toEqual({})
    for (const node of testbed.nodes) node.onCommand = () => undefined
    await bob.client.request('applyFilter', { streamId, ...BLUR })
    await until('the publisher is notified', () => changes(alice).length > 0)
    expect(changes(alice)).toHaveLength(1)
  })

  it('is undone on a media node that may have started the filter', async () => {
    const { id, alice, bob, streamId } = await pair()
    refuseFilters(new ServiceError('UNAVAILABLE', 'the answer was lost'))
    await expect(bob.client.request('applyFilter', { streamId, ...BLUR })).rejects.toEqual(code('UNAVAILABLE'))
    const { filterId } = testbed.last('applyFilter').filter
    await until('the filter is removed', () => testbed.last('removeFilter')?.filterId === filterId)
    expect(await testbed.shown(id, alice)).toEqual({})
  })

  it('replaces a filter whose master died while it started', async () => {
    const { id, alice, bob, streamId } = await pair()
    await bob.client.request('applyFilter', { streamId, ...GAIN })
    await testbed.stack.postgres.query(
      `UPDATE stream_filter SET starting_until = clock_timestamp() - interval '1 second' WHERE stream_id = $1`,
      [streamId],
    )
    await bob.client.request('applyFilter', { streamId, ...BLUR })
    expect(await testbed.shown(id, alice)).toMatchObject({ type: 'BlurFilter' })
  })
})

describe('a filter', () => {
  it('changes by its methods, and shows the last one', async () => {
    const { id, alice, bob, streamId } = await pair()
    await bob.client.request('applyFilter', { streamId, ...BLUR })
    const call = { streamId, method: 'setStrength', params: { strength: 0.9 } }
    const filter = {
      type: 'BlurFilter',
      options: BLUR_OPTIONS,
      lastExecMethod: { method: 'setStrength', params: { strength: 0.9 } },
    }
    expect(await bob.client.request('execFilterMethod', call)).toEqual({ filter })
    const { filterId } = testbed.last('applyFilter').filter
    expect(testbed.last('execFilterMethod')).toMatchObject({ ...call, connectionId: alice.id, filterId })
    expect(await testbed.shown(id, alice)).toEqual(filter)
    await until('the publisher is notified', () => changes(alice).length > 1)
    expect(changes(alice).at(-1)).toEqual(['execFilterMethod', filter])
    await expect(bob.client.request('execFilterMethod', { ...call, method: 'setGain' })).rejects.toEqual(
      code('INVALID', 'method: must be one of setRegions, setStrength'),
    )
    await expect(bob.client.request('execFilterMethod', { ...call, params: {} })).rejects.toEqual(
      code('INVALID', 'params.strength:'),
    )
  })

  it('ends by removeFilter, after which its methods are not found', async () => {
    const { id, alice, bob, streamId } = await pair()
    const calls = [
      () => bob.client.request('removeFilter', { streamId }),
      () => bob.client.request('execFilterMethod', { streamId, method: 'setStrength', params: { strength: 1 } }),
      () => bob.client.request('addFilterEventListener', { streamId, eventType: 'level' }),
    ]
    for (const call of calls) await expect(call()).rejects.toEqual(code('NOT_FOUND', 'no filter'))
    await bob.client.request('applyFilter', { streamId, ...BLUR })
    const { filterId } = testbed.last('applyFilter').filter
    await bob.client.request('removeFilter', { streamId })
    expect(testbed.last('removeFilter')).toMatchObject({ streamId, connectionId: alice.id, filterId })
    expect(await testbed.shown(id, alice)).toEqual({})
    await until('the publisher is notified', () => changes(alice).length > 1)
    expect(changes(alice).at(-1)).toEqual(['removeFilter', {}])
    for (const call of calls) await expect(call()).rejects.toEqual(code('NOT_FOUND'))
  })

  it('ends with its stream', async () => {
    const { alice, bob, streamId } = await pair()
    await bob.client.request('applyFilter', { streamId, ...BLUR })
    const rows = () => testbed.stack.postgres.query('SELECT 1 FROM stream_filter WHERE stream_id = $1', [streamId])
    expect(await rows()).toHaveLength(1)
    await alice.client.request('unpublish', { streamId })
    expect(await rows()).toEqual([])
    const next = await publish(alice)
    await bob.client.request('applyFilter', { streamId: next, ...BLUR })
    await alice.client.request('leave', {})
    await until('all rows are deleted', async () => {
      const left = await testbed.stack.postgres.query('SELECT 1 FROM stream_filter WHERE connection_id = $1', [
        alice.id,
      ])
      return left.length === 0
    })
  })
})

describe('publish with a filter', () => {
  const tracks = [SILENT_TRACK, VIDEO_TRACK]

  it('publishes a stream that has the filter from the start', async () => {
    const id = await testbed.session()
    const alice = await testbed.join(id, 'PUBLISHER', { allowedFilters: ['BlurFilter'] })
    const bob = await testbed.join(id, 'SUBSCRIBER')
    const filter = { type: 'BlurFilter', options: BLUR_OPTIONS, lastExecMethod: {} }
    const { streamId, filter: shown } = await alice.client.request('publish', { tracks, filter: BLUR })
    expect(shown).toEqual(filter)
    expect(testbed.last('publish')).toMatchObject({ streamId, filter: { type: 'BlurFilter', options: BLUR_OPTIONS } })
    expect(await bob.client.waitFor('streamCreated')).toMatchObject({ streamId, mediaOptions: { filter } })
    expect(await testbed.shown(id, alice)).toEqual(filter)
    await alice.client.request('removeFilter', { streamId })
    expect(await testbed.shown(id, alice)).toEqual({})
  })

  it('is refused as a whole when the filter is not allowed or not valid', async () => {
    const id = await testbed.session()
    const alice = await testbed.join(id, 'PUBLISHER', { allowedFilters: ['BlurFilter'] })
    await expect(alice.client.request('publish', { tracks, filter: GAIN })).rejects.toEqual(code('NOT_ALLOWED'))
    const invalid = { type: 'BlurFilter', options: {} }
    await expect(alice.client.request('publish', { tracks, filter: invalid })).rejects.toEqual(
      code('INVALID', 'filter.options.regions:'),
    )
    await expect(alice.client.request('publish', { tracks: [SILENT_TRACK], filter: BLUR })).rejects.toEqual(
      code('INVALID', 'needs a stream with video'),
    )
    expect(await testbed.shown(id, alice)).toBeUndefined()
  })

  it('shows no filter when that ended before the stream was published', async () => {
    const id = await testbed.session()
    const alice = await testbed.join(id, 'MODERATOR')
    const node = testbed.nodes[0]
    if (node)
      node.onCommand = async (command) => {
        if (command !== 'publish') return
        const { roomId, streamId, filter } = testbed.last('publish')
        const filterId = filter?.filterId ?? ''
        const ended = { kind: 'filterEnded', epoch: 1, reason: 'no such element' } as const
        await node.reportFilter({ ...ended, roomId, connectionId: alice.id, streamId, filterId })
      }
    expect((await alice.client.request('publish', { tracks, filter: BLUR })).filter).toEqual({})
    expect(await testbed.shown(id, alice)).toEqual({})
    await until('the publisher is notified', () => changes(alice).length > 0)
    expect(changes(alice)).toEqual([['filterFailed', {}]])
  })

  it('is refused when the stream ended before its filter was confirmed', async () => {
    const alice = await testbed.join(await testbed.session(), 'MODERATOR')
    const { postgres } = testbed.stack
    await postgres.query(`CREATE FUNCTION end_stream() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM stream_filter WHERE stream_id = NEW.id;
      DELETE FROM stream WHERE id = NEW.id;
      RETURN NULL;
    END $$`)
    await postgres.query('CREATE TRIGGER ended AFTER INSERT ON stream FOR EACH ROW EXECUTE FUNCTION end_stream()')
    try {
      await expect(alice.client.request('publish', { tracks, filter: BLUR })).rejects.toEqual(
        code('NOT_FOUND', 'the stream has ended'),
      )
    } finally {
      await postgres.query('DROP FUNCTION end_stream CASCADE')
    }
  })
})
