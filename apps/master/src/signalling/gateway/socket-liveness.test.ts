import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { WebSocket, WebSocketServer } from 'ws'
import type { PresenceRepository } from '../../connections/presence.repository.js'
import type { ParticipantPresence } from '../../participation/participant-presence.js'
import type { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { ClientSocket, type JoinedParticipant } from '../sockets/client-socket.js'
import { SocketRegistry } from '../sockets/socket-registry.js'
import { SocketLiveness } from './socket-liveness.js'

let server: WebSocketServer
beforeAll(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
})
afterAll(() => {
  for (const socket of server.clients) socket.terminate()
  server.close()
})

/** In place of the database: the participants that it does not have. */
let missing: string[]
let liveness: SocketLiveness
let sockets: SocketRegistry
beforeEach(() => {
  missing = []
  const broadcast = { listen: () => Promise.resolve(() => {}) } as unknown as SessionBroadcast
  sockets = new SocketRegistry(broadcast)
  const deadlines = { orphans: (ids: string[]) => Promise.resolve(ids.filter((id) => missing.includes(id))) }
  const presence = {} as ParticipantPresence
  liveness = new SocketLiveness(presence, deadlines as unknown as PresenceRepository, sockets, 'master')
})

/** A socket of the participant, and what its client has received. */
async function participant(connectionId: string) {
  const accepted = once(server, 'connection')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const frames: unknown[] = []
  client.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())))
  const [end] = (await accepted) as [WebSocket]
  const socket = new ClientSocket(end, '127.0.0.1', '', 0)
  socket.participant = { roomId: 'room', connectionId } as JoinedParticipant
  await sockets.attach('room', connectionId, socket)
  await once(client, 'open')
  return { socket, client, frames }
}

const ended = (reason: string) => ({ method: 'sessionDisconnected', params: { reason } })

it('a participant whose eviction is still on its way gets the reason of the eviction', async () => {
  const { socket, client, frames } = await participant('con_a')
  missing = ['con_a']
  await liveness.dropOrphans()
  socket.end('forceDisconnectByServer')
  await liveness.dropOrphans()
  await once(client, 'close')
  expect(frames).toMatchObject([ended('forceDisconnectByServer')])
})

it('a participant who is missing in two checks has lost the message of the eviction, and is evicted', async () => {
  const { client, frames } = await participant('con_a')
  missing = ['con_a']
  await liveness.dropOrphans()
  expect(sockets.get('room', 'con_a')).toBeDefined()
  await liveness.dropOrphans()
  expect(sockets.get('room', 'con_a')).toBeUndefined()
  await once(client, 'close')
  expect(frames).toMatchObject([ended('networkDisconnect')])
})

it('a participant who is missing in two checks with another one between them stays', async () => {
  const { socket } = await participant('con_a')
  for (const found of [['con_a'], [], ['con_a']]) {
    missing = found
    await liveness.dropOrphans()
  }
  expect(sockets.get('room', 'con_a')).toBe(socket)
})
