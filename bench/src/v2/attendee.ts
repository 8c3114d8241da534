import { type Subscription, SyntheticParticipant, SyntheticV2Participant } from '@session-service/synthetic-participant'
import type { ClientKind } from './api.js'

/** A participant of either kind. */
export interface Attendee {
  readonly isConnected: boolean
  readonly subscriptions: readonly Subscription[]
  /** The datagrams that arrived. */
  readonly received: number
  publish(kbps: number): Promise<string>
  /** Mutes the own stream, or ends that. */
  setActive(active: boolean): Promise<void>
  subscribe(streamId: string): Promise<unknown>
  leave(): Promise<void>
}

export const attend = (kind: ClientKind, token: string, prefix: string): Promise<Attendee> =>
  kind === 'v2' ? attendAsV2(token, prefix) : attendAsNative(token)

async function attendAsNative(token: string): Promise<Attendee> {
  const participant = await SyntheticParticipant.join(token)
  let isConnected = true
  void participant.socketClosed.then(() => (isConnected = false))
  return {
    get isConnected() {
      return isConnected
    },
    get subscriptions() {
      return participant.subscriptions
    },
    get received() {
      return participant.transportFigures().recv.packetsReceived
    },
    publish: async (kbps) => (await participant.publish({ kbps })).streamId,
    setActive: async (active) => {
      for (const { streamId } of participant.published)
        await participant.changeStream(streamId, { audioActive: active, videoActive: active })
    },
    subscribe: (streamId) => participant.subscribe(streamId),
    leave: () => participant.leave(),
  }
}

async function attendAsV2(token: string, prefix: string): Promise<Attendee> {
  const participant = await SyntheticV2Participant.join(token, prefix)
  return {
    get isConnected() {
      return participant.isConnected
    },
    get subscriptions() {
      return participant.subscriptions
    },
    get received() {
      return participant.packetsReceived
    },
    publish: async (kbps) => (await participant.publish({ kbps })).streamId,
    setActive: (active) => participant.setActive(active),
    subscribe: (streamId) => participant.subscribe(streamId),
    leave: () => participant.leave(),
  }
}
