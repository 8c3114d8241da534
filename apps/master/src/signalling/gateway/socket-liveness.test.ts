import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { PresenceRepository } from '../../connections/presence.repository.js'
import type { ParticipantPresence } from '../../participation/participant-presence.js'
import { AttachedSockets, messagesOf } from '../fixtures/attached-sockets.js'
import { SocketLiveness } from './socket-liveness.js'

/** In place of the database: the participants that it does not have. */
let missing: string[]
let sockets: AttachedSockets
let liveness: SocketLiveness
beforeEach(async () => {
  missing = []
  sockets = await AttachedSockets.start()
  const deadlines = { orphans: (ids: string[]) => Promise.resolve(ids.filter((id) => missing.includes(id))) }
  const presence = {} as ParticipantPresence
  liveness = new SocketLiveness(presence, deadlines as unknown as PresenceRepository, sockets.registry, 'master')
})
afterEach(() => sockets.stop())

const ended = (reason: string) => ({ method: 'sessionDisconnected', params: { reason } })

it('a participant whose eviction is still on its way gets the reason of the eviction', async () => {
  const { socket, client, frames } = await sockets.attach('con_a')
  missing = ['con_a']
  await liveness.dropOrphans()
  socket.end('forceDisconnectByServer')
  await liveness.dropOrphans()
  await once(client, 'close')
  expect(messagesOf(frames)).toMatchObject([ended('forceDisconnectByServer')])
})

it('a participant who is missing in two checks has lost the message of the eviction, and is evicted', async () => {
  const { client, frames } = await sockets.attach('con_a')
  missing = ['con_a']
  await liveness.dropOrphans()
  expect(sockets.registry.get('room', 'con_a')).toBeDefined()
  await liveness.dropOrphans()
  expect(sockets.registry.get('room', 'con_a')).toBeUndefined()
  await once(client, 'close')
  expect(messagesOf(frames)).toMatchObject([ended('networkDisconnect')])
})

it('a participant who is missing in two checks with another one between them stays', async () => {
  const { socket } = await sockets.attach('con_a')
  for (const found of [['con_a'], [], ['con_a']]) {
    missing = found
    await liveness.dropOrphans()
  }
  expect(sockets.registry.get('room', 'con_a')).toBe(socket)
})
