import { dueIn } from '../codecs/clip.js'
import { type Paced, pacer } from '../rtp/pacer.js'
import type { RtpSender } from './rtp-sender.js'

const PACKET_MS = 20
/** After a longer delay, missed packets are skipped instead of sent in a burst. */
const GIVE_UP_MS = 200

/** A steady tone or the audio of a clip, 50 packets per second. */
export class AudioSource implements Paced {
  dueAt = 0
  active = true
  #startedAt = 0
  readonly #write = (packet: Buffer, offset: number): number => {
    const due = this.#packets[dueIn(this.#packets.length, this.dueAt - this.#startedAt, PACKET_MS)]
    return offset + (due?.copy(packet, offset) ?? 0)
  }
  readonly #sender: RtpSender
  /** Sent in a loop. */
  readonly #packets: readonly Buffer[]

  constructor(sender: RtpSender, packets: readonly Buffer[]) {
    this.#sender = sender
    this.#packets = packets
  }

  start(): void {
    // A random phase, so that the participants do not send at the same time.
    const phase = this.#packets.length > 1 ? 0 : Math.random() * PACKET_MS
    this.dueAt = this.#startedAt = performance.now() + phase
    pacer.add(this)
  }

  stop(): void {
    pacer.remove(this)
  }

  run(now: number): void {
    if (now - this.dueAt > GIVE_UP_MS) this.dueAt = now
    for (; this.dueAt <= now; this.dueAt += PACKET_MS) {
      if (this.active) this.#sender.send(this.#sender.timestampAt(this.dueAt), false, this.#write)
    }
  }
}
