import { z } from 'zod'
import { ChildProgram, type ChildExit } from '@session-service/server-kit'
import { readEvent } from '../../native-program/native-program.js'

const Ports = z.object({ rtp: z.number().int(), rtcp: z.number().int() })

/** The events of `apps/media-node/compositor`, one per line. */
const CompositorEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  /** It receives the RTP of a stream on these loopback ports; 0: not wanted. */
  z.object({ event: z.literal('listening'), id: z.string(), video: Ports, audio: Ports }),
  /** The first frame of a kind was decoded, or the next one after `await`. */
  z.object({ event: z.literal('media'), id: z.string(), kind: z.enum(['audio', 'video']) }),
  /** The size of the decoded pictures. */
  z.object({ event: z.literal('size'), id: z.string(), width: z.number(), height: z.number() }),
  /** Its picture stands still until the next key frame; `media` follows then. */
  z.object({ event: z.literal('broken'), id: z.string() }),
  /** It does not decode the stream's media of this kind. */
  z.object({ event: z.literal('refused'), id: z.string(), kind: z.literal('video') }),
  /** The file has its first bytes; `sinceStartMs`: the time since its beginning. */
  z.object({ event: z.literal('writing'), sinceStartMs: z.number() }),
  z.object({ event: z.literal('stopped') }),
  /** Without `id` it concerns the whole recording. */
  z.object({ event: z.literal('error'), id: z.string().optional(), message: z.string() }),
])
export type CompositorEvent = z.infer<typeof CompositorEvent>

const STOP_TIMEOUT_MS = 12_000

/** The native program that decodes, mixes and encodes; `compositor/compositor.h` describes its commands and events. */
export class Compositor {
  /** Resolves with the reason of its exit; undefined when it was stopped. */
  readonly exited: Promise<string | undefined>
  readonly #child: ChildProgram
  #stalled = false
  #lastError: string | undefined

  constructor(
    program: string,
    private readonly onEvent: (event: CompositorEvent) => void,
  ) {
    this.#child = new ChildProgram({ command: program, args: [], onLine: (line) => this.#handleLine(line) })
    this.exited = this.#child.exited.then(
      ({ failure }) => failure && ((this.#stalled ? undefined : this.#lastError) ?? failure),
    )
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(...words: readonly (string | number)[]): void {
    this.#child.write(words.join('\t'))
  }

  /** Finalizes the file and exits; killed after a timeout. */
  stop(): Promise<ChildExit> {
    return this.#child.stop([{ afterMs: STOP_TIMEOUT_MS, signal: 'SIGKILL' }], 'stop')
  }

  async kill(): Promise<void> {
    await this.#child.stop([{ afterMs: 0, signal: 'SIGKILL' }])
  }

  /** Kills a hanging compositor, also while it stops. */
  killStalled(why: string): void {
    this.#stalled = true
    this.#child.kill(why)
  }

  #handleLine(line: string): void {
    const event = readEvent(CompositorEvent, line)
    if (!event) return
    if (event.event === 'error' && event.id === undefined) this.#lastError = event.message
    this.onEvent(event)
  }
}
