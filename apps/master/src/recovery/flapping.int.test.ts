import { EventSink, type Stack, startStack, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

const TIMEOUT_MS = 60_000
jest.setTimeout(4 * TIMEOUT_MS)

let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 0, masterEnv: webhookEnv(sink) })
  await stack.addNode({ MEDIA_NODE_ID: 'steady' })
  await stack.addNode({ MEDIA_NODE_ID: 'flappy' })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

const connected = (id: string) =>
  until(
    `${id} is connected`,
    async () => {
      const node = await stack.api.getMediaNode(id)
      return node.connected && node.status === 'running' ? node : undefined
    },
    TIMEOUT_MS,
  )
/** Kills the process. The new one registers within the silent window, or after the loss was detected. */
async function crash(id: string, isDetected: boolean): Promise<void> {
  const node = stack.node(id)
  node.kill('SIGKILL')
  await node.exited
  if (isDetected) await until('it is lost', async () => !(await stack.api.getMediaNode(id)).connected, TIMEOUT_MS)
  await stack.revive(node)
  await connected(id)
}
async function placedOn(): Promise<string | undefined> {
  const { id } = await stack.api.createSession()
  const client = await stack.join(id)
  const { mediaNodeId } = await stack.api.getSession(id)
  await client.close()
  await stack.rest('DELETE', `/sessions/${id}`)
  return mediaNodeId
}
const backedOffNodes = async (): Promise<string | undefined> => {
  const text = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
  return /^session_service_media_nodes_backed_off (\S+)$/m.exec(text)?.[1]
}
const events = () =>
  sink.accepted
    .filter(({ event }) => event.id === 'flappy' && 'backOff' in event)
    .map(({ event: { event, oldStatus, newStatus, backOff } }) => ({ event, oldStatus, newStatus, backOff }))

describe('a media node that crashes repeatedly', () => {
  it('is not backed off after its first crash', async () => {
    await connected('flappy')
    await crash('flappy', true)
    expect((await connected('flappy')).backOff).toBeUndefined()
    expect(events()).toEqual([])
  })

  it('is backed off for 10 s after its second crash, which an event reports', async () => {
    await crash('flappy', false)
    const { connectionTime = 0 } = await connected('flappy')
    await until('the event is posted', () => events().length > 0, TIMEOUT_MS)
    const backOff = { crashes: 2, until: connectionTime + 10_000 }
    expect(events()).toEqual([{ event: 'mediaNodeStatusChanged', oldStatus: 'running', newStatus: 'running', backOff }])
    await until(
      'the back-off is over',
      async () => (await stack.api.getMediaNode('flappy')).backOff === undefined,
      TIMEOUT_MS,
    )
    expect(await backedOffNodes()).toBe('0')
  })

  it('gets no session for 60 s after its third crash, also from a master that starts meanwhile', async () => {
    await crash('flappy', true)
    const { backOff, connectionTime = 0 } = await connected('flappy')
    expect(backOff).toEqual({ crashes: 3, until: connectionTime + 60_000 })
    expect(await placedOn()).toBe('steady')
    expect(await backedOffNodes()).toBe('1')
    const [master] = stack.masters
    if (!master) throw new Error('no master')
    master.kill('SIGKILL')
    await master.exited
    await stack.revive(master)
    expect((await connected('flappy')).backOff).toEqual(backOff)
    expect([await placedOn(), await placedOn()]).toEqual(['steady', 'steady'])
    await until('the events are posted', () => events().length > 1, TIMEOUT_MS)
    expect(events()[1]).toMatchObject({ event: 'mediaNodeStatusChanged', backOff })
  })

  it('keeps its crash count after it was deleted, and gets sessions when there is no other node', async () => {
    await stack.postgres.query(`UPDATE media_node SET crash_count = 1, back_off_until = NULL WHERE id = 'flappy'`)
    const node = stack.node('flappy')
    node.kill('SIGKILL')
    await node.exited
    await until('it is lost', async () => !(await stack.api.getMediaNode('flappy')).connected, TIMEOUT_MS)
    expect((await stack.rest('DELETE', '/media-nodes/flappy?deletion-strategy=now&wait=true')).status).toBe(204)
    await stack.revive(node)
    expect((await connected('flappy')).backOff).toMatchObject({ crashes: 2 })
    await stack.node('steady').stop()
    await until('the other is gone', async () => (await stack.rest('GET', '/media-nodes/steady')).status === 404)
    expect(await placedOn()).toBe('flappy')
  })
})
