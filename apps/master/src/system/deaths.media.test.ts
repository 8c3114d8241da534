import {
  type AppProcess,
  descendantsOf,
  isAlive,
  type ProcessInfo,
  startStack,
  SyntheticParticipant,
  type Stack,
  until,
} from '@session-service/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startAllNodes } from './fixtures/meeting.js'

let stack: Stack
const present: SyntheticParticipant[] = []

beforeEach(async () => {
  stack = await startStack({ nodes: 0 })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterEach(async () => {
  await Promise.all(present.splice(0).map((participant) => participant.close()))
  await stack.stop()
})

/** Creates a session with a publisher and a subscriber, on the given node or any. */
async function watchedSession(node?: string) {
  const { id } = await stack.api.createSession(node === undefined ? {} : { mediaNode: { id: node } })
  const tokens = await Promise.all([stack.api.createConnection(id), stack.api.createConnection(id)])
  const sender = await SyntheticParticipant.join(tokens[0].token ?? '')
  const watcher = await SyntheticParticipant.join(tokens[1].token ?? '')
  present.push(sender, watcher)
  const { streamId } = await sender.publish({ audio: true, video: true })
  const watched = await watcher.subscribe(streamId)
  await until('the watcher receives video', () => (watched.stats().video?.keyFrames ?? 0) > 0)
  const { mediaNodeId = '' } = await stack.api.getSession(id)
  return { id, sender, watcher, watched, mediaNodeId }
}

const masterProcess = (): AppProcess => {
  const [master] = stack.masters
  if (!master) throw new Error('no master')
  return master
}

const workersOf = (processes: ProcessInfo[]): ProcessInfo[] =>
  processes.filter(({ command }) => command.includes('mediasoup-worker'))

describe('kill -9 during a running session', () => {
  it('of a mediasoup worker moves its sessions to another worker and does not affect other sessions', async () => {
    const [one, other] = [await watchedSession('media_one'), await watchedSession('media_two')]
    const { pid } = stack.node(one.mediaNodeId)
    for (const worker of workersOf(descendantsOf(pid))) process.kill(worker.pid, 'SIGKILL')
    const returned = ({ mediaRecoveries }: SyntheticParticipant) => mediaRecoveries.at(-1)?.kind === 'reconnected'
    await until('both have rejoined', () => returned(one.sender) && returned(one.watcher), 20_000)
    const seen = one.watched.stats().video?.frames ?? 0
    await until('the watcher receives video again', () => (one.watched.stats().video?.frames ?? 0) > seen + 5)
    const before = other.watched.stats().video?.packets ?? 0
    await until(
      'the media of the other session continues',
      () => (other.watched.stats().video?.packets ?? 0) > before + 20,
    )
    expect(other.watcher.events.filter(({ method }) => method === 'mediaLost')).toHaveLength(0)
    expect((await stack.api.listSessions()).content.map(({ id }) => id)).toEqual([one.id, other.id])
    await until('the worker is back', () => workersOf(descendantsOf(pid)).length === 1, 5_000)
    await watchedSession()
  })

  it('of a media node moves its sessions, ends its workers, and does not delay new sessions', async () => {
    const [one, other] = [await watchedSession('media_one'), await watchedSession('media_two')]
    const node = stack.node(one.mediaNodeId)
    const workers = workersOf(descendantsOf(node.pid))
    expect(workers).toHaveLength(1)
    node.kill('SIGKILL')
    const next = await watchedSession()
    expect(next.mediaNodeId).toBe(other.mediaNodeId)
    await one.watcher.waitFor('mediaLost', undefined, 15_000)
    const seen = one.watched.stats().video?.frames ?? 0
    await until('the watcher receives video again', () => (one.watched.stats().video?.frames ?? 0) > seen + 5, 20_000)
    expect((await stack.api.getSession(one.id)).mediaNodeId).toBe(other.mediaNodeId)
    await until('its workers have ended', () => workers.every(({ pid }) => !isAlive(pid)), 5_000)
    expect(other.watcher.events.filter(({ method }) => method === 'mediaLost')).toHaveLength(0)
  })

  it('of the master does not interrupt media, and its clients resume at its successor', async () => {
    const { id, sender, watcher, watched, mediaNodeId } = await watchedSession()
    const master = masterProcess()
    const before = watched.stats().audio?.packets ?? 0
    master.kill('SIGKILL')
    await Promise.all([sender.socketClosed, watcher.socketClosed])
    await until('audio flows without a master', () => (watched.stats().audio?.packets ?? 0) > before + 50)
    await stack.revive(master)
    await Promise.all([sender.resume(), watcher.resume()])
    expect(watched.stats().audio?.lost).toBe(0)
    const session = await stack.api.getSession(id)
    expect(session).toMatchObject({ mediaNodeId, connections: { numberOfElements: 2 } })
    await watcher.signal({ data: 'still here' })
    await sender.waitFor('signal')
    await sender.leave()
    await watcher.waitFor('connectionDestroyed')
    await watcher.leave()
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
  })

  it('of the master lets its successor evict participants that do not resume', async () => {
    const { id } = await watchedSession()
    const master = masterProcess()
    master.kill('SIGKILL')
    await master.exited
    await stack.revive(master)
    expect((await stack.api.getSession(id)).connections.numberOfElements).toBe(2)
    await until(
      'all participants are evicted',
      async () => (await stack.rest('GET', `/sessions/${id}`)).status === 404,
      30_000,
    )
  })

  it('of the bus does not interrupt media; requests that need it get 503 until it returns', async () => {
    const { id, watcher, watched } = await watchedSession()
    stack.nats.kill()
    await until(
      'the master has noticed the outage',
      async () => (await stack.rest('DELETE', '/sessions/none')).status === 503,
    )
    const refused = await stack.rest('DELETE', `/sessions/${id}`)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).not.toBeNull()
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    const { token } = await stack.api.createConnection(id)
    const early = await stack.openSocket(token ?? '')
    await expect(early.join()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const before = watched.stats().audio?.packets ?? 0
    await until('audio flows without a bus', () => (watched.stats().audio?.packets ?? 0) > before + 250)
    await stack.nats.restart()
    const late = await until('the token is valid again', async () => {
      const socket = await stack.openSocket(token ?? '')
      await socket.join()
      return socket
    })
    await watcher.signal({ data: 'healed' })
    expect(await late.waitFor('signal')).toMatchObject({ data: 'healed' })
    expect(watcher.events.filter(({ method }) => method === 'connectionCreated')).toHaveLength(1)
    expect(watcher.events.filter(({ method }) => method === 'sessionDisconnected')).toHaveLength(0)
  })
})
