import { markHandled } from '@session-service/server-kit'
import { z } from 'zod'
import { NativeProgram } from '../../native-program/native-program.js'

const Ports = z.object({ rtp: z.number().int(), rtcp: z.number().int() })

/** The events of `apps/media-node/compositor` while it logs packets. */
const PacketEvent = z.discriminatedUnion('event', [
  /** The file exists. `startedUs`: the start of the log by CLOCK_MONOTONIC. */
  z.object({ event: z.literal('logging'), startedUs: z.number() }),
  /** It logs what arrives at these loopback ports; 0: not wanted. */
  z.object({ event: z.literal('listening'), id: z.coerce.number(), video: Ports, audio: Ports }),
  z.object({ event: z.literal('error'), message: z.string() }),
])
type PacketEvent = z.infer<typeof PacketEvent>
type Listening = Extract<PacketEvent, { event: 'listening' }>

/** The native program that writes the packets of streams into a log, without decoding. */
export class PacketRecorder extends NativeProgram<PacketEvent> {
  readonly #started = Promise.withResolvers<number>()
  readonly #listening = new Map<number, (ports: Listening | undefined) => void>()

  constructor(command: string, path: string, onError: (message: string) => void) {
    super(command, PacketEvent, (event) => {
      if (event.event === 'logging') this.#started.resolve(event.startedUs)
      if (event.event === 'listening') this.#listening.get(event.id)?.(event)
      if (event.event === 'error') onError(event.message)
    })
    this.command('record', path)
    void this.exited.then(() => this.#exited())
    markHandled(this.#started.promise)
  }

  /** The start of the log by CLOCK_MONOTONIC, us. */
  get started(): Promise<number> {
    return this.#started.promise
  }

  #exited(): void {
    this.#started.reject(new Error('the recorder of packets exited'))
    for (const answer of this.#listening.values()) answer(undefined)
  }

  /** Undefined when the program has exited. */
  add(source: number, kinds: { video: boolean; audio: boolean }): Promise<Listening | undefined> {
    return new Promise((resolve) => {
      this.#listening.set(source, resolve)
      this.command('add', source, Number(kinds.video), Number(kinds.audio))
    })
  }

  remove(source: number): void {
    this.#listening.delete(source)
    this.command('remove', source)
  }
}
