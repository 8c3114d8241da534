import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { events, failure, json, ScriptedApiServer } from './fixtures/api-server.js'
import { PodWatch } from './pod-watch.js'

const pod = (name: string, resourceVersion: string, metadata: object = {}) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion, ...metadata },
  spec: {},
  status: { phase: 'Running' },
})
const list = (version: string, ...items: object[]) => json({ metadata: { resourceVersion: version }, items })
const changed = (type: string, object: object) => ({ type, object })
const bookmark = (resourceVersion: string) => changed('BOOKMARK', { metadata: { resourceVersion } })
const expired = changed('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })

let server: ScriptedApiServer
let watch: PodWatch

beforeEach(async () => {
  server = await ScriptedApiServer.start()
  watch = new PodWatch(server.api, 'app=calls', { firstMs: 1, longestMs: 5 })
})
afterEach(async () => {
  await watch.close()
  await server.stop()
})

/** Names of the pods, deleted ones in parentheses. */
function names(): string {
  try {
    return watch
      .pods()
      .map(({ pod: { metadata }, isDeleted }) => (isDeleted ? `(${metadata.name})` : metadata.name))
      .toSorted()
      .join(' ')
  } catch (error) {
    return String(error)
  }
}
const become = (expected: string): Promise<unknown> => until(`the pods are ${expected}`, () => names() === expected)
const versions = (): (string | null)[] =>
  server.received
    .filter(({ url }) => url.searchParams.has('watch'))
    .map(({ url }) => url.searchParams.get('resourceVersion'))

describe('PodWatch', () => {
  it('knows no pods before the first list', () => {
    server.will(failure(403, 'Forbidden'))
    expect(names()).toBe('Error: the pods of Kubernetes have not been listed yet')
  })

  it('lists the pods, then applies their changes', async () => {
    server.will(
      list('5', pod('a', '3')),
      events([changed('ADDED', pod('b', '6')), changed('DELETED', pod('a', '7'))], 'stay'),
    )
    await become('(a) b')
    expect(versions()).toEqual(['5'])
    expect([watch.find('a'), watch.find('b')?.pod.metadata.uid]).toEqual([undefined, 'uid-b'])
  })

  it.each(['end', 'break'] as const)(
    'continues after the last change when the watch has come to its %s',
    async (how) => {
      server.will(
        list('5', pod('a', '3')),
        events([changed('ADDED', pod('b', '6')), bookmark('9')], how),
        events([changed('ADDED', pod('c', '10'))], 'stay'),
      )
      await become('a b c')
      expect(versions()).toEqual(['5', '9'])
    },
  )

  it.each([
    ['as an event', events([expired], 'end')],
    ['as the answer', failure(410, 'Expired')],
  ])('lists the pods again when their changes have expired, %s, and finds the deleted ones', async (_, answer) => {
    server.will(
      list('5', pod('a', '3'), pod('b', '4')),
      answer,
      list('20', pod('b', '4'), pod('c', '18')),
      events([], 'stay'),
    )
    await become('(a) b c')
    expect(server.received.slice(0, 3).map(({ url }) => url.searchParams.has('watch'))).toEqual([false, true, false])
  })

  it('repeats a list and a watch that failed', async () => {
    server.will(
      failure(403, 'Forbidden'),
      list('5'),
      failure(500, 'InternalError'),
      events([changed('ADDED', pod('a', '6'))], 'stay'),
    )
    await become('Error: the pods of Kubernetes have not been listed yet')
    await become('a')
  })

  it('ignores half an event, and gets it with the next watch', async () => {
    server.will(
      list('5'),
      (_, response) => {
        response.writeHead(200)
        response.write('{"type":"ADDED","obj', () => response.destroy())
      },
      events([changed('ADDED', pod('a', '6'))], 'stay'),
    )
    names()
    await become('a')
  })

  it('refuses pods that have been outdated for long', async () => {
    server.will(list('5', pod('a', '3')), events([], 'stay'))
    await become('a')
    expect(() => watch.pods(performance.now() + 91_000)).toThrow('the Kubernetes API does not answer')
  })

  it('remembers since when a pod has been ending', async () => {
    const ending = { deletionTimestamp: '2026-11-23T10:00:00Z' }
    server.will(
      list('5', pod('a', '3', ending)),
      events([changed('MODIFIED', pod('a', '6', { ...ending, labels: { x: 'y' } }))], 'stay'),
    )
    names()
    await until('it was listed', () => names() === 'a')
    const since = watch.find('a')?.deletingSince
    await until('it has changed', () => watch.find('a')?.pod.metadata.resourceVersion === '6')
    expect(since).toEqual(expect.any(Number))
    expect(watch.find('a')?.deletingSince).toBe(since)
  })
})
