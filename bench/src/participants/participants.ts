import {
  pacer,
  readClip,
  type PublishedStream,
  type Subscription,
  SyntheticParticipant,
} from '@session-service/synthetic-participant'
import { serveHelper } from '../helper/serve.js'
import { type Counts, PARTICIPANTS } from './api.js'

interface Publishing {
  participant: SyntheticParticipant
  stream: PublishedStream
}

/** The participants of one room in this process. */
class RoomParticipants {
  readonly participants: SyntheticParticipant[] = []
  readonly publishing: Publishing[] = []
  readonly subscriptions: Subscription[] = []

  async join(token: string): Promise<SyntheticParticipant> {
    const participant = await SyntheticParticipant.join(token)
    this.participants.push(participant)
    return participant
  }

  talk(active: boolean): Promise<unknown> {
    const change = { audioActive: active, videoActive: active }
    return Promise.all(
      this.publishing.map(({ participant, stream }) => participant.changeStream(stream.streamId, change)),
    )
  }

  count(): Counts {
    const counts: Counts = { packets: 0, datagrams: 0, lost: 0, missing: 0, lagMs: pacer.takeWorstLag() }
    for (const participant of this.participants) counts.datagrams += participant.transportFigures().recv.packetsReceived
    for (const subscription of this.subscriptions) {
      const { audio, video } = subscription.stats()
      counts.packets += (audio?.packets ?? 0) + (video?.packets ?? 0)
      counts.lost += (audio?.lost ?? 0) + (video?.lost ?? 0)
      counts.missing += Number(audio?.packets === 0) + Number(video?.keyFrames === 0)
    }
    for (const { stream } of this.publishing) {
      const { audio, video } = stream.stats()
      counts.packets += (audio?.packets ?? 0) + (video?.packets ?? 0)
    }
    return counts
  }
}

const rooms = new Map<string, RoomParticipants>()

function participantsOf(room: string): RoomParticipants {
  const existing = rooms.get(room)
  if (existing) return existing
  const created = new RoomParticipants()
  rooms.set(room, created)
  return created
}

serveHelper(PARTICIPANTS, {
  publish: async ({ room, tokens, fps = 25, clips = [], ...options }) => {
    const participants = participantsOf(room)
    const scenes = await Promise.all(clips.map(({ ivf, ogg }) => readClip(ivf, ogg)))
    for (const [nth, token] of tokens.entries()) {
      const participant = await participants.join(token)
      const clip = scenes[nth % scenes.length]
      const stream = await participant.publish({ ...options, fps, ...(clip && { clip }) })
      participants.publishing.push({ participant, stream })
    }
    await participants.talk(false)
    return { streamIds: participants.publishing.map(({ stream }) => stream.streamId) }
  },
  subscribe: async ({ room, tokens, streamIds }) => {
    for (const token of tokens) {
      const participant = await participantsOf(room).join(token)
      for (const streamId of streamIds) participantsOf(room).subscriptions.push(await participant.subscribe(streamId))
    }
    return {}
  },
  talk: async ({ room, active }) => {
    await participantsOf(room).talk(active)
    return {}
  },
  leave: async ({ room }) => {
    await Promise.all(participantsOf(room).participants.map((participant) => participant.leave()))
    rooms.delete(room)
    return {}
  },
  count: async ({ room }) => participantsOf(room).count(),
})
