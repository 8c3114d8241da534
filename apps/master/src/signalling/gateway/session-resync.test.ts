import { once } from 'node:events'
import type { SessionSnapshot } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import type { SessionSnapshots } from '../../participation/session-snapshots.js'
import type { ParticipantState } from '../rpc-handlers/participant-state.js'
import { type AttachedSocket, AttachedSockets, messagesOf } from '../fixtures/attached-sockets.js'
import { SessionResync } from './session-resync.js'

Logger.overrideLogger(false)

let sockets: AttachedSockets
beforeEach(async () => {
  sockets = await AttachedSockets.start()
})
afterEach(() => sockets.stop())

const EMPTY: SessionSnapshot = { connections: [], streams: [], mediaEpoch: 1 }

/** Reconnects the bus of a master whose reads are these. Participants keep their rights. */
function reconnect(
  read: SessionSnapshots['read'],
  refreshRights: ParticipantState['refreshRights'] = () => Promise.resolve([]),
): void {
  let onStatus: (connected: boolean) => void = () => undefined
  const bus = { onStatus: (listener: typeof onStatus) => ((onStatus = listener), () => undefined) }
  const state = { refreshRights, requestSendLimits: () => Promise.resolve() }
  const resync = new SessionResync(
    bus as unknown as Bus,
    { read } as unknown as SessionSnapshots,
    state as unknown as ParticipantState,
    sockets.registry,
  )
  resync.onModuleInit()
  onStatus(true)
}

it('reads the snapshots of twenty clients at the same time, and of the others afterwards', async () => {
  const attached: AttachedSocket[] = []
  for (let nth = 0; nth < 30; nth += 1) attached.push(await sockets.attach(`con_${nth}`))
  const answers: ((snapshot: SessionSnapshot) => void)[] = []
  reconnect(() => new Promise((resolve) => answers.push(resolve)))
  expect(answers).toHaveLength(20)
  const received = attached.map(({ client }) => once(client, 'message'))
  for (const answer of answers) answer(EMPTY)
  await Promise.all(received.slice(0, 20))
  expect(answers).toHaveLength(30)
  for (const answer of answers) answer(EMPTY)
  await Promise.all(received)
  for (const { frames } of attached)
    expect(messagesOf(frames)).toMatchObject([{ method: 'snapshot', params: { mediaEpoch: 1 } }])
})

it('closes the socket of a client that cannot be brought up to date, and sends the others their snapshots', async () => {
  const [failing, other] = [await sockets.attach('con_a'), await sockets.attach('con_b')]
  const [closed, received] = [once(failing.client, 'close'), once(other.client, 'message')]
  reconnect(
    () => Promise.resolve(EMPTY),
    ({ connectionId }) => {
      // At once: after a rejection the rights stay as they are.
      if (connectionId === 'con_a') throw new Error('a mistake')
      return Promise.resolve([])
    },
  )
  await Promise.all([closed, received])
  expect(failing.frames).toEqual([])
  expect(messagesOf(other.frames)).toMatchObject([{ method: 'snapshot' }])
})

it('asks for the end of the recordings that a client may know by a former role', async () => {
  const { client, frames } = await sockets.attach('con_a')
  const received = once(client, 'message')
  reconnect((_, options) => Promise.resolve({ ...EMPTY, ...(options?.mayKnowRecordings && { recordings: [] }) }))
  await received
  expect(messagesOf(frames)[0]).toMatchObject({ method: 'snapshot', params: { recordings: [] } })
})

it('sends a client whose role has changed the snapshot of its new role', async () => {
  const { client, frames } = await sockets.attach('con_a')
  const received = once(client, 'message')
  reconnect(
    ({ role }) => Promise.resolve({ ...EMPTY, ...(role === 'MODERATOR' && { recordings: [] }) }),
    (participant) => {
      participant.role = 'MODERATOR'
      return Promise.resolve(['role'])
    },
  )
  await received
  expect(messagesOf(frames)[0]).toMatchObject({ method: 'snapshot', params: { recordings: [] } })
})
