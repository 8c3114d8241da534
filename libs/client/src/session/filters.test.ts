import { FILTER_TYPES, type FilterView, ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '../fixtures/manual-clock.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { streamInfo } from '../fixtures/samples.js'
import { isSameValue } from '../platform/same-value.js'
import type { StreamPropertyChangedEvent } from '../streams/events.js'
import type { Stream } from '../streams/stream.js'
import { allowedFiltersOf } from './filters.js'

const BLUR: FilterView = { type: 'BlurFilter', options: { strength: 0.5 }, lastExecMethod: {} }
const STRONG: FilterView = { ...BLUR, lastExecMethod: { method: 'setStrength', params: { strength: 1 } } }
const GAIN: FilterView = { type: 'AudioGainFilter', options: { gain: 3 }, lastExecMethod: {} }

let testbed: ParticipantTestbed
let stream: Stream

beforeEach(async () => {
  testbed = await ParticipantTestbed.join()
  testbed.server.answer('applyFilter', () => ({ result: { filter: BLUR } }))
  testbed.server.answer('execFilterMethod', () => ({ result: { filter: STRONG } }))
  for (const method of ['removeFilter', 'addFilterEventListener', 'removeFilterEventListener'] as const)
    testbed.server.answer(method, () => ({ result: {} }))
  stream = testbed.participant.stream('str_b') as Stream
})
afterEach(() => testbed.stop())

const change = (newValue: FilterView, reason: 'applyFilter' | 'execFilterMethod' | 'removeFilter' | 'filterFailed') =>
  testbed.server.notify('streamPropertyChanged', {
    ...{ streamId: 'str_b', connectionId: 'con_b', changedProperty: 'filter', newValue, reason },
  })
const dispatch = (data: string, filterType = 'BlurFilter'): void =>
  testbed.server.notify('filterEventDispatched', {
    ...{ streamId: 'str_b', connectionId: 'con_b', filterType, eventType: 'level', data },
  })
const changes = (): StreamPropertyChangedEvent[] =>
  testbed.events
    .filter(({ name }) => name === 'streamPropertyChanged')
    .map(({ event }) => event as StreamPropertyChangedEvent)

describe('the filter of a stream', () => {
  it('is applied, changed and removed, and each change is emitted once with the former and the new state', async () => {
    const filter = await stream.applyFilter('BlurFilter', { strength: 0.5 })
    expect(testbed.server.calls('applyFilter').at(-1)?.params).toEqual({
      ...{ streamId: 'str_b', type: 'BlurFilter', options: { strength: 0.5 } },
    })
    expect(stream.filter).toBe(filter)
    expect([filter.type, filter.options, filter.lastExecMethod]).toEqual(['BlurFilter', { strength: 0.5 }, {}])
    await filter.execMethod('setStrength', { strength: 1 })
    expect(stream.filter).toBe(filter)
    expect(filter.lastExecMethod).toEqual(STRONG.lastExecMethod)
    await stream.removeFilter()
    expect(stream.filter).toBeUndefined()
    expect(changes().map(({ reason, oldValue, newValue }) => [reason, oldValue, newValue])).toEqual([
      ['applyFilter', null, BLUR],
      ['execFilterMethod', BLUR, STRONG],
      ['removeFilter', STRONG, null],
    ])
  })

  it('follows the notifications of the server', async () => {
    change(BLUR, 'applyFilter')
    await until('the filter', () => stream.filter)
    const { filter } = stream
    change(STRONG, 'execFilterMethod')
    await until('the method', () => filter?.lastExecMethod.method === 'setStrength')
    expect(stream.filter).toBe(filter)
    change({}, 'filterFailed')
    await until('the end', () => !stream.filter)
    change(STRONG, 'applyFilter')
    await until('the next filter', () => stream.filter)
    expect(stream.filter).not.toBe(filter)
    expect(changes().map(({ reason }) => reason)).toEqual([
      'applyFilter',
      'execFilterMethod',
      'filterFailed',
      'applyFilter',
    ])
  })

  it('rejects with the error of the server, and stays as it was', async () => {
    testbed.server.answer('applyFilter', () => ({ error: new ServiceError('CONFLICT', 'the stream has a filter') }))
    await expect(stream.applyFilter('BlurFilter')).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(stream.filter).toBeUndefined()
    expect(testbed.log).toEqual([])
  })

  it('is known from the snapshot of joining, and changes by those of later connections', async () => {
    const other = await ParticipantTestbed.join({ streams: [streamInfo('str_b', 'con_b', { filter: BLUR })] })
    expect(other.participant.stream('str_b')?.filter?.type).toBe('BlurFilter')
    const former = other.participant.stream('str_b')?.filter
    for (const [filter, reason] of [
      // The database does not keep the order of members.
      [{ lastExecMethod: {}, options: { strength: 0.5 }, type: 'BlurFilter' }, undefined],
      [STRONG, 'execFilterMethod'],
      [GAIN, 'applyFilter'],
      [{}, 'removeFilter'],
    ] as const) {
      other.log.length = 0
      other.server.notify('snapshot', { ...other.snapshot, streams: [streamInfo('str_b', 'con_b', { filter })] })
      // The answer follows the snapshot.
      await other.handled()
      expect(other.log).toEqual(reason ? [`streamPropertyChanged str_b filter ${reason}`] : [])
      if (reason === 'execFilterMethod') expect(other.participant.stream('str_b')?.filter).toBe(former)
    }
    expect(other.participant.stream('str_b')?.filter).toBeUndefined()
    await other.stop()
  })

  it('waits for the stream to be published again after a loss of the media', async () => {
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnecting')
    const applied = stream.applyFilter('BlurFilter')
    await testbed.waitForEvent('reconnected')
    await testbed.elapse(1_000)
    expect(testbed.server.calls('applyFilter')).toEqual([])
    testbed.server.notify('streamCreated', streamInfo('str_b', 'con_b'))
    await applied
    expect(testbed.server.calls('applyFilter')).toHaveLength(1)
  })
})

describe('the events of a filter', () => {
  it('reach the listeners of their type with the parsed data, until these are removed', async () => {
    const filter = await stream.applyFilter('BlurFilter')
    const [first, second]: [unknown[], unknown[]] = [[], []]
    const listener = ({ data }: { data: unknown }): unknown => first.push(data)
    await filter.addEventListener('level', listener)
    await filter.addEventListener('level', listener)
    await filter.addEventListener('level', (event) =>
      second.push([event.filter === filter, event.eventType, event.data]),
    )
    const params = { streamId: 'str_b', eventType: 'level' }
    expect(testbed.server.calls('addFilterEventListener').map((call) => call.params)).toEqual([params, params])
    dispatch('{"peak":-3}')
    dispatch('1', 'AudioGainFilter')
    dispatch('no JSON')
    await until('the events', () => second.length === 2)
    expect(first).toEqual([{ peak: -3 }, 'no JSON'])
    expect(second[0]).toEqual([true, 'level', { peak: -3 }])
    await filter.removeEventListener('level', listener)
    expect(testbed.server.calls('removeFilterEventListener')).toHaveLength(0)
    dispatch('2')
    await until('the event', () => second.length === 3)
    await filter.removeEventListener('level')
    await filter.removeEventListener('level')
    expect(testbed.server.calls('removeFilterEventListener').map((call) => call.params)).toEqual([params])
    expect(first).toHaveLength(2)
  })

  it('do not reach a listener that the server refused', async () => {
    const filter = await stream.applyFilter('BlurFilter')
    const received: unknown[] = []
    testbed.server.answer('addFilterEventListener', () => ({ error: new ServiceError('NOT_ALLOWED', 'not yours') }))
    await expect(filter.addEventListener('level', ({ data }) => received.push(data))).rejects.toThrow('not yours')
    dispatch('1')
    testbed.server.notify('cameraStatusChanged', { connectionId: 'con_b', status: 'idle', error: null })
    await testbed.waitForEvent('cameraStatusChanged con_b')
    expect(received).toEqual([])
  })
})

describe('publish with a filter', () => {
  it('sends it once; after a loss of the media the server decides on the filter', async () => {
    const answers: (FilterView | undefined)[] = [BLUR, STRONG, undefined]
    testbed.server.answer('publish', () => {
      const filter = answers.shift()
      return { result: { streamId: 'str_own1', createdAt: 3, ...(filter && { filter }) } }
    })
    const filter = { type: 'BlurFilter', options: { strength: 0.5 } }
    const publisher = await testbed.publish({ filter })
    expect(publisher.stream?.filter?.type).toBe('BlurFilter')
    const applied = publisher.stream?.filter
    expect(testbed.log).toEqual([])
    for (const expected of ['execFilterMethod', 'removeFilter']) {
      testbed.notifyMediaLoss()
      await testbed.waitForEvent(`streamPropertyChanged str_own1 filter ${expected}`)
      if (expected === 'execFilterMethod') expect(publisher.stream?.filter).toBe(applied)
      await testbed.waitForEvent('reconnected')
    }
    expect(publisher.stream?.filter).toBeUndefined()
    const sent = testbed.server.calls('publish').map(({ params }) => [params['streamId'], params['filter']])
    expect(sent).toEqual([
      [undefined, filter],
      ['str_own1', undefined],
      ['str_own1', undefined],
    ])
  })
})

describe('the types of filters that a role permits', () => {
  it.each([
    ['MODERATOR', undefined, [...FILTER_TYPES]],
    ['PUBLISHER', ['BlurFilter', 'FaceFilter'], ['BlurFilter']],
    ['PUBLISHER', undefined, []],
    ['SUBSCRIBER', ['BlurFilter'], []],
    [undefined, ['BlurFilter'], []],
  ] as const)('of %s with %j are %j', (role, allowed, expected) => {
    expect(allowedFiltersOf(role, allowed)).toEqual(expected)
  })
})

describe('isSameValue', () => {
  it.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: undefined }, { b: undefined }, false],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [null, {}, false],
    [null, null, true],
    ['1', 1, false],
  ])('of %j and %j is %s', (one, other, expected) => {
    expect(isSameValue(one, other)).toBe(expected)
  })
})
