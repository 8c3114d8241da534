import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { busScope, DisconnectAdvisory, nodeClientName, SUBJECT } from '@session-service/contract'
import { type LocalNats, natsUrlOf, newClusterUsers, startNats, until } from '@session-service/local-stack'
import { z } from 'zod'
import { TestBuses } from '../fixtures/test-buses.js'

const Message = z.object({ n: z.number() })
const ECHO = [Message, Message, 2_000] as const
/** A message of the bus server itself. */
const Advisory = z.object({ type: z.literal('io.nats.server.advisory.v1.client_disconnect') })
const CLUSTER = 'north'
const { prefix } = busScope(CLUSTER, 'node')

const users = newClusterUsers(CLUSTER)
const others = newClusterUsers('south')
const buses = new TestBuses()
const raw: NatsConnection[] = []
let nats: LocalNats
beforeAll(async () => {
  nats = await startNats({ users: [users, others] })
})
afterEach(async () => {
  await Promise.all(raw.splice(0).map((connection) => connection.close()))
  await buses.clear()
})
afterAll(() => nats.stop())

const busOf = (role: 'master' | 'node', given = users) =>
  buses.connect(natsUrlOf(nats.url, given[role]), { cluster: given.cluster, role })

/** A raw client with the credentials of a media node, and the errors that the server sent to it. */
async function roguePeer(given = users): Promise<{ peer: NatsConnection; serverErrors: string[] }> {
  const { user, password } = given.node
  const peer = await connect({ servers: nats.url, user, pass: password })
  raw.push(peer)
  const serverErrors: string[] = []
  void (async () => {
    for await (const status of peer.status()) if (status.type === 'error') serverErrors.push(status.error.message)
  })()
  return { peer, serverErrors }
}

describe('a bus with authorization', () => {
  it('refuses a client without credentials', async () => {
    await expect(connect({ servers: nats.url })).rejects.toThrow(/authorization/i)
    await expect(connect({ servers: nats.url, user: users.node.user, pass: 'wrong' })).rejects.toThrow(/authorization/i)
  })

  it('carries commands, reports, heartbeats and room events between a master and a media node', async () => {
    const [master, node] = [await busOf('master'), await busOf('node')]
    const received: string[] = []
    for (const subject of [SUBJECT.allHeartbeats, SUBJECT.roomEvent('*')])
      master.subscribe(subject, Message, (_message, from) => void received.push(from))
    for (const subject of [SUBJECT.allFacts, SUBJECT.allRepeatedFacts])
      master.serve(subject, ECHO, (message) => message)
    node.serve(SUBJECT.nodeCommand('media_a', 'join'), ECHO, (message) => message)
    await Promise.all([master.flush(), node.flush()])
    node.publish(SUBJECT.heartbeat('media_a'), Message, { n: 1 })
    node.publish(SUBJECT.roomEvent('room'), Message, { n: 1 })
    expect(await node.request(SUBJECT.fact('media_a'), ECHO, { n: 2 })).toEqual({ n: 2 })
    expect(await node.request(SUBJECT.repeatedFact('media_a'), ECHO, { n: 6 })).toEqual({ n: 6 })
    expect(await master.request(SUBJECT.nodeCommand('media_a', 'join'), ECHO, { n: 3 })).toEqual({ n: 3 })
    node.serve(SUBJECT.nodeBoot('media_a', 'boot_a'), ECHO, (message) => message)
    await node.flush()
    expect(await master.request(SUBJECT.nodeBoot('media_a', 'boot_a'), ECHO, { n: 4 })).toEqual({ n: 4 })
    const isIdFree = node.request(SUBJECT.nodeCommand('media_b', 'inventory'), ECHO, { n: 5 })
    await expect(isIdFree).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(received).toEqual(['heartbeat.media_a', 'nodeEvent.room'])
    expect(buses.problems).toEqual([])
  })

  it('reports to masters the end of the connections of their own cluster, with the name of the client', async () => {
    const [master, stranger] = [await busOf('master'), await busOf('master', others)]
    const names: Record<'own' | 'other', string[]> = { own: [], other: [] }
    master.subscribe(SUBJECT.disconnected, DisconnectAdvisory, ({ client }) => void names.own.push(client.name))
    stranger.subscribe(SUBJECT.disconnected, DisconnectAdvisory, ({ client }) => void names.other.push(client.name))
    await Promise.all([master.flush(), stranger.flush()])
    const { user, password } = users.node
    const node = await connect({ servers: nats.url, user, pass: password, name: nodeClientName('media_a', 'boot_a') })
    await node.close()
    await until('the end is reported', () => names.own.includes('media_a/boot_a'))
    const other = await connect({
      servers: nats.url,
      user: others.node.user,
      pass: others.node.password,
      name: 'south/1',
    })
    await other.close()
    await until('the end in the other cluster is reported there', () => names.other.includes('south/1'))
    expect(names.other).not.toContain('media_a/boot_a')
    expect(names.own).not.toContain('south/1')
  })

  it.each([
    ['a restart of the masters', SUBJECT.restart],
    ['a message to the sockets of a session', SUBJECT.session('room')],
    ['a placement', SUBJECT.placed('media_b')],
    ['a request for the health of a master', SUBJECT.masterHealth('master_a')],
    ['the death of a master', SUBJECT.masterDead('master_a')],
    ['a command to a media node', SUBJECT.nodeCommand('media_b', 'terminate')],
    ['the end of the connection of another media node', SUBJECT.disconnected],
    ['a reply to a master without a request', 'inbox.master.x.1'],
  ])('does not let a media node publish %s', async (_what, subject) => {
    const master = await busOf('master')
    const received: string[] = []
    master.subscribe('>', z.unknown(), (message, from) => {
      if (!Advisory.safeParse(message).success) received.push(from)
    })
    await master.flush()
    const { peer, serverErrors } = await roguePeer()
    peer.publish(prefix + subject, '{}')
    peer.publish(prefix + SUBJECT.heartbeat('media_a'), '{}')
    await until('the permitted message is received', () => received.includes('heartbeat.media_a'))
    await until('the rejection is reported', () => serverErrors.length > 0)
    expect(received).toEqual(['heartbeat.media_a'])
    expect(serverErrors[0]).toMatch(/permissions violation for publish/i)
  })

  it.each([
    ['messages between masters about sessions', SUBJECT.session('*')],
    ['every subject of the cluster', '>'],
    ['restarts', SUBJECT.restart],
    ['reports of other nodes', SUBJECT.allFacts],
    ['ended connections of other nodes', SUBJECT.disconnected],
    ['the advisories of the bus server', '$SYS.>', ''],
    ['replies to masters', 'inbox.master.>'],
  ])('does not let a media node subscribe to %s', async (_what, subject, before = prefix) => {
    const { peer } = await roguePeer()
    const rejected = new Promise<Error | null>((resolve) => peer.subscribe(before + subject, { callback: resolve }))
    expect((await rejected)?.message).toMatch(/permissions violation for subscription/i)
  })

  it('does not let a media node use the subjects of another cluster, or of no cluster', async () => {
    const { peer } = await roguePeer(others)
    for (const subject of [prefix + SUBJECT.nodeCommand('media_a', 'join'), SUBJECT.allHeartbeats, '>']) {
      const rejected = new Promise<Error | null>((resolve) => peer.subscribe(subject, { callback: resolve }))
      expect((await rejected)?.message).toMatch(/permissions violation/i)
    }
  })

  it('does not let a media node use the reply of a master as a command to another node', async () => {
    const [master, node] = [await busOf('master'), await busOf('node')]
    master.serve(SUBJECT.allFacts, ECHO, (message) => message)
    const commands: number[] = []
    node.subscribe(SUBJECT.nodeCommand('media_b', 'terminate'), z.unknown(), () => void commands.push(1))
    await Promise.all([master.flush(), node.flush()])
    const { peer } = await roguePeer()
    const reply = prefix + SUBJECT.nodeCommand('media_b', 'terminate')
    for (const payload of ['{"n":1}', '{}']) peer.publish(prefix + SUBJECT.fact('media_a'), payload, { reply })
    await until('the master has reported both', () => buses.problems.filter(isWrongReply).length === 2)
    // Anything that the master had sent would arrive before this reply.
    expect(await node.request(SUBJECT.fact('media_b'), ECHO, { n: 4 })).toEqual({ n: 4 })
    expect(commands).toEqual([])
  })
})

const isWrongReply = ({ message }: { message: string }): boolean => /must go to an inbox/.test(message)
