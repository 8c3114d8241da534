import { z } from 'zod'
import { ChildProgram, type ChildExit } from '@session-service/server-kit'

const Ports = z.object({ rtp: z.number().int(), rtcp: z.number().int() })

/** What `apps/media-node/compositor` says, a line each. */
const CompositorEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  /** Takes a stream's RTP at these ports of loopback; 0: not wanted. */
  z.object({ event: z.literal('listening'), id: z.string(), video: Ports, audio: Ports }),
  /** The first of a kind was decoded, or the next after `await`. */
  z.object({ event: z.literal('media'), id: z.string(), kind: z.enum(['audio', 'video']) }),
  /** Of its decoded pictures. */
  z.object({ event: z.literal('size'), id: z.string(), width: z.number(), height: z.number() }),
  z.object({ event: z.literal('removed'), id: z.string() }),
  /** It takes nothing of the kind from it, and has removed it. */
  z.object({ event: z.literal('refused'), id: z.string(), kind: z.literal('video') }),
  /** The first bytes are in the file, so long after the time of its beginning. */
  z.object({ event: z.literal('writing'), sinceStartMs: z.number() }),
  z.object({ event: z.literal('stopped') }),
  /** Without `id` it concerns all. */
  z.object({ event: z.literal('error'), id: z.string().optional(), message: z.string() }),
])
export type CompositorEvent = z.infer<typeof CompositorEvent>

const STOP_MS = 12_000

/** The native program that decodes, mixes and encodes; what it is told and tells is in `compositor/compositor.h`. */
export class Compositor {
  /** Why it ended; undefined when it was asked to. */
  readonly exited: Promise<string | undefined>
  readonly #child: ChildProgram
  #stalled = false
  #complaint: string | undefined

  constructor(
    program: string,
    private readonly onEvent: (event: CompositorEvent) => void,
  ) {
    this.#child = new ChildProgram({ command: program, args: [], onLine: (line) => this.#hear(line) })
    this.exited = this.#child.exited.then(
      ({ failure }) => failure && ((this.#stalled ? undefined : this.#complaint) ?? failure),
    )
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  tell(...words: readonly (string | number)[]): void {
    this.#child.write(words.join('\t'))
  }

  /** Ends the file in order; one that takes too long is killed. */
  stop(): Promise<ChildExit> {
    return this.#child.stop([{ afterMs: STOP_MS, signal: 'SIGKILL' }], 'stop')
  }

  async kill(): Promise<void> {
    await this.#child.stop([{ afterMs: 0, signal: 'SIGKILL' }])
  }

  /** Kills it though it may have been asked to stop: it hangs. */
  killStalled(why: string): void {
    this.#stalled = true
    this.#child.kill(why)
  }

  #hear(line: string): void {
    const event = CompositorEvent.safeParse(parse(line))
    if (!event.success) return
    if (event.data.event === 'error' && event.data.id === undefined) this.#complaint = event.data.message
    this.onEvent(event.data)
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
