import { RoomEvent, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Injectable, Logger } from '@nestjs/common'
import { Fence } from '../node/fence.js'

/** Speech events held while fenced; the oldest are dropped. */
const MOST_HELD_SPEECH = 1_000
type SpeechEvent = Extract<RoomEvent, { kind: 'speechToText' | 'speechToTextDisconnected' }>

/** Publishes the events of rooms to all masters; holds them back while the node is fenced. */
@Injectable()
export class RoomEvents {
  readonly #logger = new Logger(RoomEvents.name)
  /** The latest event of each kind and stream: events describe states. */
  #heldSpeech: { roomId: string; event: SpeechEvent }[] = []
  readonly #held = new Map<string, { roomId: string; event: RoomEvent }>()

  constructor(
    private readonly fence: Fence,
    private readonly bus: Bus,
  ) {}

  publish(roomId: string, event: RoomEvent): void {
    if (this.fence.isOpen()) return this.#send(roomId, event)
    if (event.kind === 'speechToText' || event.kind === 'speechToTextDisconnected')
      return this.#holdSpeech(roomId, event)
    const { kind, connectionId, streamId } = event
    const to = event.kind === 'subscriptionReplaced' ? event.to : []
    this.#held.set([roomId, kind, connectionId, streamId, ...to].join('/'), { roomId, event })
  }

  /** Sentences happen once, while the text of an unfinished sentence is soon obsolete. */
  #holdSpeech(roomId: string, event: SpeechEvent): void {
    if (event.kind === 'speechToText' && event.message.reason === 'recognizing') return
    this.#heldSpeech.push({ roomId, event })
    if (this.#heldSpeech.length > MOST_HELD_SPEECH) this.#heldSpeech.shift()
  }

  /** Publishes the held events of rooms that are still open. */
  publishHeld(epochOf: (roomId: string) => number | undefined): void {
    const held = [...this.#held.values(), ...this.#heldSpeech]
    this.#held.clear()
    this.#heldSpeech = []
    for (const { roomId, event } of held) if (epochOf(roomId) === event.epoch) this.#send(roomId, event)
  }

  #send(roomId: string, event: RoomEvent): void {
    // The caller is a callback of mediasoup: a failure here must not affect other events.
    try {
      this.bus.publish(SUBJECT.roomEvent(roomId), RoomEvent, event)
    } catch (error) {
      this.#logger.error({ err: error, roomId, kind: event.kind }, 'publishing a room event failed')
    }
  }
}
