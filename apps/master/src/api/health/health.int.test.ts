import { ClusterHealth } from '@session-service/contract'
import { startStack, type RestAnswer, type Stack, until } from '@session-service/testing'
import { afterEach, describe, expect, it } from '@jest/globals'

const PATIENCE_MS = 60_000
let stack: Stack
afterEach(() => stack.stop())

const health = (): Promise<RestAnswer> => stack.rest('GET', '/health')
const becomes = (what: string, status: number, body: unknown): Promise<unknown> =>
  until(
    `health is ${what}`,
    async () => {
      const answer = await health()
      if (answer.status !== status) return false
      expect(answer.body).toEqual(body)
      return true
    },
    PATIENCE_MS,
  )

describe('GET health of a single master', () => {
  it('follows the state of the media nodes, and needs credentials', async () => {
    stack = await startStack({ nodes: 0 })
    await becomes('DOWN without any node', 503, { status: 'DOWN', disconnectedMediaNodes: [] })
    expect((await fetch(`${stack.masterUrl}/service/api/health`)).status).toBe(401)
    await stack.addNode({ MEDIA_NODE_ID: 'north' })
    const south = await stack.addNode({ MEDIA_NODE_ID: 'south' })
    await becomes('UP', 200, { status: 'UP', disconnectedMediaNodes: [] })
    south.kill('SIGKILL')
    await south.exited
    await becomes('UNSTABLE', 409, { status: 'UNSTABLE', disconnectedMediaNodes: ['south'] })
    await stack.revive(south)
    await becomes('UP again', 200, { status: 'UP', disconnectedMediaNodes: [] })
    await stack.nodes[0]?.stop()
    await until(
      'a node that deregistered does not count as disconnected',
      async () => (await health()).status === 200,
      PATIENCE_MS,
    )
    stack.nodes[1]?.kill('SIGKILL')
    await stack.nodes[1]?.exited
    await becomes('DOWN', 503, { status: 'DOWN', disconnectedMediaNodes: ['south'] })
  }, 180_000)

  it('is DOWN, not 500, without the bus or the database, and recovers', async () => {
    stack = await startStack({ ownPostgres: true, nodeEnv: { MEDIA_NODE_ID: 'north' } })
    await becomes('UP', 200, { status: 'UP', disconnectedMediaNodes: [] })
    stack.nats.kill()
    await becomes('DOWN without the bus', 503, { status: 'DOWN', disconnectedMediaNodes: ['north'] })
    await stack.nats.restart()
    await becomes('UP again', 200, { status: 'UP', disconnectedMediaNodes: [] })
    await stack.postgres.server?.stop()
    await becomes('DOWN without the database', 503, { status: 'DOWN', disconnectedMediaNodes: [] })
  }, 180_000)
})

describe('GET health of several masters', () => {
  it('shows each of them, at any master', async () => {
    stack = await startStack({ masters: 2, nodeEnv: { MEDIA_NODE_ID: 'north' } })
    await until('both are UP', async () => (await health()).status === 200, PATIENCE_MS)
    const { clusterStatus, nodes } = ClusterHealth.strict().parse((await health()).body)
    expect(clusterStatus).toBe('UP')
    expect(
      Object.entries(nodes)
        .map(([id, node]) => [id, node.uri, node.status])
        .toSorted(),
    ).toEqual(
      Object.values(nodes)
        .map(({ id, uri }) => [id, uri, 'UP'])
        .toSorted(),
    )
    expect(
      Object.values(nodes)
        .map(({ uri }) => uri)
        .toSorted(),
    ).toEqual([...stack.masterUrls].toSorted())
    stack.masters[1]?.kill('SIGSTOP')
    await until('a master that does not answer shows', async () => (await health()).status === 409, PATIENCE_MS)
    stack.masters[1]?.kill('SIGCONT')
    await until('UP again', async () => (await health()).status === 200, PATIENCE_MS)
    stack.nodes[0]?.kill('SIGKILL')
    await until('DOWN', async () => (await health()).status === 503, PATIENCE_MS)
    const down = ClusterHealth.strict().parse((await health()).body)
    expect(down.clusterStatus).toBe('DOWN')
    expect(Object.values(down.nodes).map(({ disconnectedMediaNodes }) => disconnectedMediaNodes)).toContainEqual([
      'north',
    ])
  }, 180_000)

  it('has the form of several masters in the enterprise edition, also with one', async () => {
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_EDITION: 'enterprise' } })
    const { status, body } = await health()
    expect(status).toBe(503)
    expect(Object.values(ClusterHealth.parse(body).nodes)).toHaveLength(1)
  }, 60_000)
})
