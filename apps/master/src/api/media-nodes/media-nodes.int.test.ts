import { MediaNodeListView, MediaNodeView } from '@session-service/contract'
import {
  EventSink,
  freePorts,
  type RestAnswer,
  ServiceApi,
  type Stack,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { z } from 'zod'
import { HeartbeatOnlyNode } from '../../media-nodes/drivers/fixtures/heartbeat-only-node.js'
import { ENTERED, nodeEvents } from '../../media-nodes/fixtures/node-events.js'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

const WAITING = 'waiting-idle-to-terminate'
let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ masters: 2, nodes: 0, masterEnv: webhookEnv(sink) })
  await stack.addNode({ MEDIA_NODE_ID: 'base' })
  await until('the node is registered', () => stack.api.getMediaNode('base'), PATIENCE_MS)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

const eventsOf = (id: string): string[] => nodeEvents(sink, id)

/** Starts a node that does not register by itself, and gives its URI. */
async function unregistered(id: string): Promise<string> {
  const [port = 0] = await freePorts(1)
  await stack.addNode({ MEDIA_NODE_ID: id, MEDIA_NODE_JOIN: 'false', MEDIA_NODE_RTC_PORT: String(port) })
  return `ws://127.0.0.1:${port}/mediaserver`
}
/** Starts a node that registers by itself. */
async function registered(id: string): Promise<void> {
  await stack.addNode({ MEDIA_NODE_ID: id })
  await until(`${id} is in the cluster`, () => stack.api.getMediaNode(id), PATIENCE_MS)
}
async function busy(id: string): Promise<() => Promise<void>> {
  const session = await stack.api.createSession({ mediaNode: { id } })
  const client = await stack.join(session.id)
  return async () => {
    await client.close()
    await stack.rest('DELETE', `/sessions/${session.id}`)
  }
}
const remove = (id: string, query = ''): Promise<RestAnswer> => stack.rest('DELETE', `/media-nodes/${id}${query}`)
/** The masters in turn. */
const at = (nth: number): ServiceApi => stack.apiOf(nth % 2)
/** The other masters know of a change within a second. */
const isRejectedElsewhere = (id: string): Promise<unknown> =>
  until('the other master places no session on it', async () => {
    const { status } = await at(1).request('POST', '/sessions', { mediaNode: { id } })
    return status === 400
  })
const isGone = (id: string): Promise<unknown> =>
  until(`${id} is removed`, async () => (await stack.rest('GET', `/media-nodes/${id}`)).status === 404, PATIENCE_MS)

describe('GET media-nodes', () => {
  it('shows the state of each node, and only the details that were requested', async () => {
    const free = await busy('base')
    const list = z.strictObject(MediaNodeListView.shape).parse((await stack.rest('GET', '/media-nodes')).body)
    expect(list.numberOfElements).toBe(1)
    expect(Object.keys(list.content[0] ?? {}).toSorted()).toEqual(
      ['connected', 'connectionTime', 'id', 'ip', 'launchingTime', 'load', 'object', 'status', 'uri'].toSorted(),
    )
    expect(list.content[0]).toMatchObject({ id: 'base', object: 'mediaNode', connected: true, status: 'running' })
    const { body } = await stack.rest('GET', '/media-nodes/base?sessions=true&recordings=true&extra-info=true')
    const node = MediaNodeView.strict().parse(body)
    expect(node).toMatchObject({ recordingIds: [], broadcasts: [], sessions: [{ mediaNodeId: 'base' }] })
    expect(node.mediaserverInfo?.workers).toHaveLength(1)
    expect((await stack.rest('GET', '/media-nodes/none')).status).toBe(404)
    await free()
  })

  it('leaves out the details of a node that does not answer', async () => {
    // A node of its own: it may count as crashed while it is frozen, which posts events.
    await registered('frozen')
    const node = stack.node('frozen')
    node.kill('SIGSTOP')
    try {
      const { body } = await stack.rest('GET', '/media-nodes/frozen?extra-info=true')
      expect(MediaNodeView.parse(body).mediaserverInfo).toBeUndefined()
    } finally {
      node.kill('SIGCONT')
    }
    await until('it is connected again', async () => (await stack.api.getMediaNode('frozen')).connected, PATIENCE_MS)
    expect((await remove('frozen', '?wait=true')).status).toBe(204)
  })
})

describe('POST media-nodes on premises', () => {
  it.each([
    ['without uri', {}, 501, /uri/],
    ['with an invalid uri', { uri: 'nowhere' }, 400, /^uri: must be a URL/],
    ['with a metadata address', { uri: 'http://169.254.169.254/latest' }, 400, /^uri: is a link-local address/],
    ['with a uri without a node', { uri: 'ws://127.0.0.1:9/mediaserver' }, 404, /127\.0\.0\.1:9/],
    ['with a uri of another type', { uri: 7 }, 400, /^uri/],
  ])('%s is rejected', async (_, body, status, message) => {
    const answer = await stack.rest('POST', '/media-nodes', body)
    expect(answer).toMatchObject({ status, body: { message: expect.stringMatching(message) as unknown } })
  })

  it('with the address of the service itself or of a registered node is rejected', async () => {
    expect((await stack.rest('POST', '/media-nodes', { uri: stack.masterUrl })).status).toBe(400)
    const { uri = '' } = await stack.api.getMediaNode('base')
    expect((await stack.rest('POST', '/media-nodes', { uri })).status).toBe(409)
  })
})

describe('POST media-nodes on premises', () => {
  it('adds an unregistered node once: of twenty simultaneous requests one is answered 200', async () => {
    const uri = await unregistered('waits')
    expect((await stack.rest('GET', '/media-nodes/waits')).status).toBe(404)
    expect((await stack.rest('POST', '/sessions', { mediaNode: { id: 'waits' } })).status).toBe(400)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) =>
        at(nth).request('POST', '/media-nodes?wait=true', { uri, environmentId: 'rack 7' }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)])
    const { body } = answers.find(({ status }) => status === 200) ?? {}
    expect(MediaNodeView.parse(body)).toMatchObject({ id: 'waits', uri, environmentId: 'rack 7', status: 'running' })
    await until('the events are posted', () => eventsOf('waits').length >= 2)
    expect(eventsOf('waits')).toEqual(ENTERED)
    // The other masters know of the new node within a second.
    const free = await until('this master knows the node', () => busy('waits'))
    await free()
  })
})

describe('PUT media-nodes', () => {
  it('adds all unregistered nodes, and none twice', async () => {
    await unregistered('one')
    await unregistered('two')
    const added = new Set<string>()
    await until(
      'both were added',
      async () => {
        for (const { id } of (await stack.api.discoverMediaNodes()).content) added.add(id)
        return added.size === 2
      },
      PATIENCE_MS,
    )
    expect([...added].toSorted()).toEqual(['one', 'two'])
    expect(await stack.api.discoverMediaNodes()).toEqual({ numberOfElements: 0, content: [] })
    stack.node('one').kill('SIGKILL')
    await until('it is disconnected', async () => !(await stack.api.getMediaNode('one')).connected, PATIENCE_MS)
    expect((await stack.api.discoverMediaNodes()).numberOfElements).toBe(0)
    await until('the event of its start', () => eventsOf('two').length >= ENTERED.length)
    expect(eventsOf('two')).toEqual(ENTERED)
    // The process is dead: the removal needs no answer of the node.
    expect((await remove('one', '?wait=true')).status).toBe(204)
    expect((await remove('two', '?wait=true')).status).toBe(204)
    expect((await stack.rest('GET', '/health')).status).toBe(200)
  })
})

describe('DELETE media-nodes', () => {
  it('rejects unknown nodes and strategies', async () => {
    expect((await remove('none')).status).toBe(404)
    expect((await remove('base', '?deletion-strategy=perhaps')).status).toBe(400)
  })

  it('if-no-sessions keeps a busy node and removes an idle one', async () => {
    await registered('idle')
    const free = await busy('idle')
    expect((await remove('idle')).status).toBe(409)
    expect(await stack.api.getMediaNode('idle')).toMatchObject({ status: 'running' })
    await free()
    const gone = await until('it is idle', async () => {
      const answer = await remove('idle')
      return answer.status === 409 ? undefined : answer
    })
    expect(gone).toMatchObject({ status: 200, body: { id: 'idle', status: 'terminating' } })
    await isGone('idle')
    expect((await remove('idle')).status).toBe(404)
    expect(await stack.node('idle').exited).toBe(0)
    await until('the events of its end are posted', () => eventsOf('idle').length >= 4)
    expect(eventsOf('idle')).toEqual([...ENTERED, 'running → terminating', 'terminating → terminated'])
  })

  it('when-no-sessions waits for a busy node, which gets no new sessions', async () => {
    await registered('busy')
    const free = await busy('busy')
    const answer = await remove('busy', '?deletion-strategy=when-no-sessions')
    expect(answer).toMatchObject({ status: 202, body: { status: WAITING, remaining: { sessions: 1, recordings: 0 } } })
    await isRejectedElsewhere('busy')
    const waiting = remove('busy', '?deletion-strategy=when-no-sessions&wait=true')
    await free()
    expect((await waiting).status).toBe(204)
    await until('the events of its end are posted', () => eventsOf('busy').length >= 5)
    expect(eventsOf('busy')).toEqual([
      ...ENTERED,
      `running → ${WAITING}`,
      `${WAITING} → terminating`,
      'terminating → terminated',
    ])
  })

  it('now ends the sessions, and answers 204 when the node is removed', async () => {
    await registered('doomed')
    const free = await busy('doomed')
    expect((await remove('doomed', '?deletion-strategy=now&wait=true')).status).toBe(204)
    expect((await stack.postgres.query(`SELECT 1 FROM session WHERE media_node_id = 'doomed'`)).length).toBe(0)
    expect(await stack.node('doomed').exited).toBe(0)
    await free()
  })

  it('continues when the client disconnects', async () => {
    await registered('left')
    const free = await busy('left')
    const { signal, abort } = abortable()
    const pending = fetch(
      `${stack.masterUrl}/service/api/media-nodes/left?deletion-strategy=when-no-sessions&wait=true`,
      {
        method: 'DELETE',
        headers: { authorization: stack.authorization },
        signal,
      },
    )
    await until(
      'the node waits for its sessions',
      async () => (await stack.api.getMediaNode('left')).status === WAITING,
      PATIENCE_MS,
    )
    abort()
    await expect(pending).rejects.toThrow()
    await free()
    await isGone('left')
  })
})

describe('PATCH media-nodes', () => {
  const patch = (id: string, status: unknown) => stack.rest('PATCH', `/media-nodes/${id}`, { status })

  it('takes a node out of service and back; other statuses are rejected', async () => {
    const free = await busy('base')
    expect((await patch('none', 'running')).status).toBe(404)
    expect((await patch('base', 'asleep')).status).toBe(400)
    expect((await patch('base', 'running')).status).toBe(204)
    for (const status of ['launching', 'canceled', 'failed', 'terminated'])
      expect((await patch('base', status)).status).toBe(400)
    expect(await patch('base', WAITING)).toMatchObject({ status: 200, body: { id: 'base', status: WAITING } })
    expect((await patch('base', WAITING)).status).toBe(204)
    await isRejectedElsewhere('base')
    expect(await patch('base', 'running')).toMatchObject({ status: 200, body: { status: 'running' } })
    const again = await until('it gets sessions again', () => busy('base'), PATIENCE_MS)
    await until('the events are posted', () => eventsOf('base').length >= 4)
    expect(eventsOf('base')).toEqual([...ENTERED, `running → ${WAITING}`, `${WAITING} → running`])
    await again()
    await free()
  })

  it('takes a node back into service although it sends heartbeats of that before its answer', async () => {
    const slow = await HeartbeatOnlyNode.start(stack.nats.url, 'slow', 0)
    try {
      await until('it is in the cluster', () => stack.api.getMediaNode('slow'), PATIENCE_MS)
      expect((await patch('slow', WAITING)).status).toBe(200)
      await until('it drains', () => slow.commands.includes('drain'))
      await stack.postgres.query(`UPDATE media_node SET changed_at = now() - interval '1 min' WHERE id = 'slow'`)
      // The leader compares heartbeats and rows each second.
      const [drained] = await stack.postgres.query(`SELECT clock_timestamp() + interval '1.5 s' AS compared`)
      await until('the leader has seen it drain', async () => {
        const behind = await stack.postgres.query('SELECT 1 FROM master WHERE alive_at < $1', [drained?.compared])
        return behind.length === 0
      })
      slow.answersAfterMs = 2_200
      expect(await patch('slow', 'running')).toMatchObject({ status: 200, body: { status: 'running' } })
      expect(slow.commands).toEqual(['drain', 'undrain'])
      expect(await stack.api.getMediaNode('slow')).toMatchObject({ status: 'running' })
    } finally {
      await slow.end()
    }
  })

  it('to terminating of the last node makes health DOWN', async () => {
    await until(
      'the removed nodes have terminated',
      async () => (await stack.api.listMediaNodes()).numberOfElements <= 2,
      PATIENCE_MS,
    )
    for (const { id } of (await stack.api.listMediaNodes()).content)
      expect((await patch(id, 'terminating')).status).toBe(200)
    await until('no node is listed', async () => (await stack.api.listMediaNodes()).numberOfElements === 0, PATIENCE_MS)
    expect((await stack.rest('GET', '/health')).status).toBe(503)
  })
})

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
