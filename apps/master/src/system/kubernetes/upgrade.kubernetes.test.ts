/** @quiet it measures gaps of media */
import { KubernetesCluster, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { rmSync } from 'node:fs'
import { buildOfVersion } from './fixtures/builds.js'
import { Call, gapLines, mediaInAll, watchOwnStalls } from './fixtures/calls.js'
import { READY_MS, Release } from './fixtures/release.js'
import { VersionWatch } from './fixtures/version-watch.js'

const TIMEOUT_MS = 4 * READY_MS
const CALLS = 10
/** One more machine than media nodes, because two of them do not fit on one. */
const NODES = ['node-1', 'node-2', 'node-3'].map((name) => ({ name }))

/** Longer than the test. */
const NO_LIMIT_S = 3_600
const SHORT_DRAIN_S = 20

/** Tags of the images, and versions that their programs report. */
const FORMER = '0.0.1'
const NEXT = '0.0.2'
/** The folder of a build of the former version; by default the former version is a copy of this build. */
const { UPGRADE_FROM } = process.env

let cluster: KubernetesCluster
let release: Release
let calls: Call[] = []
const builds = new Map<string, string>()
beforeAll(async () => {
  builds.set(FORMER, buildOfVersion(FORMER, UPGRADE_FROM)).set(NEXT, buildOfVersion(NEXT))
  cluster = await KubernetesCluster.start({ nodes: NODES, builds })
  release = await Release.prepare(cluster, 'calls')
  await release.install(values(FORMER, NO_LIMIT_S))
  await release.ready({ masters: 2, nodes: 2 })
}, TIMEOUT_MS)
afterAll(async () => {
  await closeCalls()
  await cluster?.stop()
  for (const folder of builds.values()) rmSync(folder, { recursive: true, force: true })
}, TIMEOUT_MS)

const values = (tag: string, drainTimeout: number) => ({
  master: { image: { tag } },
  mediaNodes: { replicas: 2, drainTimeout, image: { tag } },
})
const ofTag = (tag: string): number =>
  [...release.readyPods('master'), ...release.readyPods('media-node')].filter(({ spec }) =>
    spec.containers.every(({ image }) => image.endsWith(`:${tag}`)),
  ).length
const replacedBy = (tag: string): Promise<unknown> =>
  until(`all ready pods are those of ${tag}`, () => ofTag(tag) === 4, TIMEOUT_MS)

/** The versions of the media nodes that serve sessions, by what the programs report. */
async function servingVersions(): Promise<string[]> {
  const { content } = await release.api.listMediaNodes({ 'extra-info': 'true' })
  const sessions = await Promise.all(calls.map(({ id }) => release.api.getSession(id)))
  const used = new Set(sessions.map(({ mediaNodeId }) => mediaNodeId))
  const versions = content.filter(({ id }) => used.has(id)).map(({ mediaserverInfo }) => mediaserverInfo?.version ?? '')
  return [...new Set(versions)].toSorted()
}

/** Replaces all pods, and resolves to how often the version of the answering master changed meanwhile. */
async function changesDuring(act: () => Promise<unknown>, tag: string): Promise<number> {
  const watch = new VersionWatch(release.api)
  try {
    await act()
    await replacedBy(tag)
    await until(`all masters answer as ${tag}`, () => watch.versions.slice(-4).every((each) => each === tag), READY_MS)
    return watch.changes
  } finally {
    await watch.stop()
  }
}

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
      const changes = await changesDuring(() => release.upgrade(values(NEXT, SHORT_DRAIN_S)), NEXT)
      // Requests go to all ready masters in turn: with one change alone no two versions would have served together.
      expect(changes).toBeGreaterThan(1)
      expect(await interruptedCalls()).toEqual([])
      report(stalls)
      stalls.stop()
      expect(calls.flatMap(({ parties }) => parties.flatMap(({ participant }) => participant.mediaRecoveries))).toEqual(
        [],
      )
      const fresh = await Call.start(release.api)
      expect(former).not.toContain((await release.api.getSession(fresh.id)).mediaNodeId)
      calls.push(fresh)
      expect(await servingVersions()).toEqual([FORMER, NEXT])
      expect(await interruptedCalls()).toEqual([])
      await closeCalls()
      await release.ready({ masters: 2, nodes: 2 })
    },
    TIMEOUT_MS,
  )

  it(
    'moves the calls that outlast the limit of the drain, and interrupts none',
    async () => {
      await startCalls()
      const stalls = watchOwnStalls()
      const changes = await changesDuring(() => release.upgrade(values(FORMER, SHORT_DRAIN_S)), FORMER)
      expect(changes).toBeGreaterThan(1)
      await release.ready({ masters: 2, nodes: 2 })
      expect(await servingVersions()).toEqual([FORMER])
      expect(await interruptedCalls()).toEqual([])
      report(stalls)
      stalls.stop()
    },
    TIMEOUT_MS,
  )

  it(
    'is undone by a rollback that interrupts no call either',
    async () => {
      await changesDuring(() => release.run('rollback', '2'), NEXT)
      await release.ready({ masters: 2, nodes: 2 })
      expect(await servingVersions()).toEqual([NEXT])
      expect(await interruptedCalls()).toEqual([])
    },
    TIMEOUT_MS,
  )
})
