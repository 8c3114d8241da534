import { setImmediate as endOfIteration } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { type LabelBounds, metrics, registry } from './metrics.js'

const shown = async (name: string): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(`session_service_${name}`))

describe('metrics', () => {
  it('adds the prefix of the service to the name of a counter', async () => {
    const created = metrics.counter('sessions_created_total', { help: 'Sessions created' })
    created.inc({})
    created.inc({}, 2)
    expect(await shown('sessions_created_total')).toEqual(['session_service_sessions_created_total 3'])
  })

  it('exports a counter with lists of label values from the start, with 0', async () => {
    metrics.counter('failures_total', { help: 'x', labels: { cause: ['a', 'b'], kind: ['k'] } })
    expect(await shown('failures_total')).toEqual([
      'session_service_failures_total{cause="a",kind="k"} 0',
      'session_service_failures_total{cause="b",kind="k"} 0',
    ])
  })

  it.each<[string, LabelBounds]>([
    ['values that are not listed', { route: 3, kind: ['k'] }],
    ['more than 64 combinations', { one: 'a b c d e f g h i'.split(' '), two: '1 2 3 4 5 6 7 8'.split(' ') }],
  ])('exports a counter with %s when it is incremented', async (_, labels) => {
    const counter = metrics.counter('later_total', { help: 'x', labels })
    expect(await shown('later_total')).toEqual([])
    counter.inc(Object.fromEntries(Object.keys(labels).map((name) => [name, 'k'])))
    expect(await shown('later_total')).toHaveLength(1)
  })

  it('replaces a label value that is not listed by other', async () => {
    const destroyed = metrics.counter('destroyed_total', { help: 'x', labels: { reason: ['a', 'b'] } })
    for (const reason of ['a', 'b', 'ses_1', 'ses_2']) destroyed.inc({ reason })
    expect(await shown('destroyed_total')).toEqual([
      'session_service_destroyed_total{reason="a"} 1',
      'session_service_destroyed_total{reason="b"} 1',
      'session_service_destroyed_total{reason="other"} 2',
    ])
  })

  it('replaces further label values by other after the maximum number', async () => {
    const load = metrics.gauge('node_load', { help: 'x', labels: { node: 2, kind: ['k'] } })
    for (const [index, node] of ['n1', 'n2', 'n3', 'n4', 'n1'].entries()) load.set({ node, kind: 'k' }, index)
    expect(await shown('node_load')).toEqual([
      'session_service_node_load{node="n1",kind="k"} 4',
      'session_service_node_load{node="n2",kind="k"} 1',
      'session_service_node_load{node="other",kind="k"} 3',
    ])
  })

  it('counts observations in buckets', async () => {
    const join = metrics.histogram('join_seconds', { help: 'x', labels: { result: ['ok'] }, buckets: [0.1, 1] })
    for (const seconds of [0.05, 0.5, 5]) join.observe({ result: 'ok' }, seconds)
    expect(await shown('join_seconds')).toEqual([
      'session_service_join_seconds_bucket{le="0.1",result="ok"} 1',
      'session_service_join_seconds_bucket{le="1",result="ok"} 2',
      'session_service_join_seconds_bucket{le="+Inf",result="ok"} 3',
      'session_service_join_seconds_sum{result="ok"} 5.55',
      'session_service_join_seconds_count{result="ok"} 3',
    ])
  })

  it('reads a sampled gauge at each scrape, and a later gauge replaces one of the same name', async () => {
    let rooms = 1
    metrics.sampled('rooms', 'x', () => rooms)
    rooms = 5
    expect(await shown('rooms')).toEqual(['session_service_rooms 5'])
    metrics.sampled('rooms', 'x', async () => 7)
    expect(await shown('rooms')).toEqual(['session_service_rooms 7'])
  })

  it.each<[string, () => Promise<number>]>([
    ['rejects', () => Promise.reject(new Error('no database'))],
    [
      'throws',
      () => {
        throw new Error('no database')
      },
    ],
    ['does not answer', () => new Promise(() => undefined)],
  ])('omits a sampled gauge while its read function %s', async (_, fail) => {
    let read: () => number | Promise<number> = () => 3
    metrics.sampled('flaky', 'x', () => read())
    metrics.sampled('steady', 'x', () => 1)
    expect(await shown('flaky')).toEqual(['session_service_flaky 3'])
    read = fail
    const all = (await registry.metrics()).split('\n')
    expect(all.filter((line) => line.startsWith('session_service_flaky'))).toEqual([])
    expect(all).toContain('session_service_steady 1')
    read = () => 4
    expect(await shown('flaky')).toEqual(['session_service_flaky 4'])
  })

  it('reads a sampled gauge with labels at each scrape, and adds the values of other labels', async () => {
    let read: () => (readonly [{ kind: string }, number])[] = () => [
      [{ kind: 'audio' }, 1],
      [{ kind: 'x' }, 2],
      [{ kind: 'y' }, 3],
    ]
    metrics.sampledSeries('kinds', { help: 'x', labels: { kind: ['audio', 'video'] } }, () => read())
    expect(await shown('kinds')).toEqual([
      'session_service_kinds{kind="audio"} 1',
      'session_service_kinds{kind="other"} 5',
    ])
    read = () => [[{ kind: 'video' }, 7]]
    expect(await shown('kinds')).toEqual(['session_service_kinds{kind="video"} 7'])
    read = () => {
      throw new Error('no database')
    }
    expect(await shown('kinds')).toEqual([])
  })

  it('omits a sampled gauge without a value', async () => {
    metrics.sampled('unknown', 'x', () => undefined)
    expect(await shown('unknown')).toEqual([])
  })

  it('exports the default metrics of the process', async () => {
    const all = await registry.metrics()
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds'])
      expect(all).toContain(`\n${name} `)
  })

  it('measures each iteration of the event loop since the last scrape', async () => {
    const lag = async (figure: string): Promise<number> => {
      const all = await registry.metrics()
      return Number(new RegExp(`^nodejs_eventloop_lag_${figure}_seconds (.*)$`, 'm').exec(all)?.[1])
    }
    await lag('max')
    const until = performance.now() + 100
    while (performance.now() < until);
    await endOfIteration()
    await endOfIteration()
    expect(await lag('max')).toBeGreaterThan(0.09)
    await endOfIteration()
    await endOfIteration()
    expect(await lag('min')).toBeLessThan(0.05)
  })
})
