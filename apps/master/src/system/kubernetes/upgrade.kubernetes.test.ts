/** @quiet it measures gaps of media */
import { KubernetesCluster, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Call, gapLines, mediaInAll, watchOwnStalls } from './fixtures/calls.js'
import { READY_MS, Release } from './fixtures/release.js'

const TIMEOUT_MS = 4 * READY_MS
const CALLS = 10
/** One more machine than media nodes, because two of them do not fit on one. */
const NODES = ['node-1', 'node-2', 'node-3'].map((name) => ({ name }))

/** Longer than the test. */
const NO_LIMIT_S = 3_600
const SHORT_DRAIN_S = 20

let cluster: KubernetesCluster
let release: Release
let calls: Call[] = []
beforeAll(async () => {
  cluster = await KubernetesCluster.start({ nodes: NODES })
  release = await Release.prepare(cluster, 'calls')
  await release.install(values('one', NO_LIMIT_S))
  await release.ready({ masters: 2, nodes: 2 })
}, TIMEOUT_MS)
afterAll(async () => {
  await closeCalls()
  await cluster?.stop()
}, TIMEOUT_MS)

/** Every pod of the service has the annotation, so that a change replaces all of them. */
const values = (build: string, drainTimeout: number) => ({
  master: { podAnnotations: { build } },
  mediaNodes: { replicas: 2, drainTimeout, podAnnotations: { build } },
})
const ofBuild = (build: string): number =>
  [...release.readyPods('master'), ...release.readyPods('media-node')].filter(
    ({ metadata }) => metadata.annotations.build === build,
  ).length
const replacedBy = (build: string): Promise<unknown> =>
  until(`all ready pods are those of ${build}`, () => ofBuild(build) === 4, TIMEOUT_MS)

/** One after another, so that they are spread over the nodes. */
async function startCalls(): Promise<void> {
  for (let nth = 0; nth < CALLS; nth++) calls.push(await Call.start(release.api))
}
async function closeCalls(): Promise<void> {
  await Promise.all(calls.map((call) => call.close()))
  calls = []
}
async function interruptedCalls(): Promise<string[]> {
  await mediaInAll(calls, READY_MS)
  return (await Promise.all(calls.map((call) => call.interrupted(release.api)))).flat()
}
const report = (stalls: { longestMs: () => number }): void =>
  console.info(
    [
      `longest time without media (this process itself stood still for up to ${stalls.longestMs()} ms):`,
      ...gapLines(calls),
    ].join('\n'),
  )

describe('an upgrade during ten calls', () => {
  it(
    'leaves the calls on their media nodes until they end, and starts new ones on new nodes',
    async () => {
      await startCalls()
      const former = release.readyPods('media-node').map(({ metadata }) => metadata.name)
      const stalls = watchOwnStalls()
      await release.upgrade(values('two', SHORT_DRAIN_S))
      await replacedBy('two')
      expect(await interruptedCalls()).toEqual([])
      report(stalls)
      stalls.stop()
      expect(calls.flatMap(({ parties }) => parties.flatMap(({ participant }) => participant.mediaRecoveries))).toEqual(
        [],
      )
      const fresh = await Call.start(release.api)
      expect(former).not.toContain((await release.api.getSession(fresh.id)).mediaNodeId)
      await closeCalls()
      await fresh.close()
      await release.ready({ masters: 2, nodes: 2 })
    },
    TIMEOUT_MS,
  )

  it(
    'moves the calls that outlast the limit of the drain, and interrupts none',
    async () => {
      await startCalls()
      const stalls = watchOwnStalls()
      await release.upgrade(values('three', SHORT_DRAIN_S))
      await replacedBy('three')
      await release.ready({ masters: 2, nodes: 2 })
      expect(await interruptedCalls()).toEqual([])
      report(stalls)
      stalls.stop()
    },
    TIMEOUT_MS,
  )

  it(
    'is undone by a rollback that interrupts no call either',
    async () => {
      await release.run('rollback', '2')
      await replacedBy('two')
      await release.ready({ masters: 2, nodes: 2 })
      expect(await interruptedCalls()).toEqual([])
    },
    TIMEOUT_MS,
  )
})
