import { createSocket } from 'node:dgram'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Slot, type SpeechResult } from '@session-service/speech'
import {
  LEVEL_ID,
  PAYLOAD_TYPE,
  packetize,
  type TestEngine,
  upsample,
  wordErrorRate,
} from '@session-service/speech/fixtures'
import { until } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'
import type { Speaker } from './meeting.js'

export interface Recognition {
  /** CPU seconds of the process with the model. */
  cpu: number
  /** Wrong words by the words that were spoken, of all participants. */
  wordErrors: number
  /** From the end of each sentence to its recognized text, s. Only in real time. */
  latencies: number[]
}

interface Heard {
  stream: string
  at: number
  result: SpeechResult
}

const SEND_EVERY_MS = 10
/** A result whose end is farther from that of a sentence belongs to another one, s. */
const SAME_END = 0.8
/** No result arrives later than this after the audio, ms. */
const SETTLE_MS = 2_500
const LONG_MS = 600_000

/** One process with a model, which recognizes the meeting in both ways. */
export class Recognizer {
  static async start({ engine, folder }: TestEngine): Promise<Recognizer> {
    const heard: Heard[] = []
    const closed = new Set<string>()
    const slot = await Slot.start({
      engine,
      folder,
      language: 'en-US',
      limits: { silenceMs: 60_000, openMs: 60_000 },
      events: {
        result: (stream, _utterance, result) => {
          if (result.kind === 'final') heard.push({ stream, at: performance.now(), result })
        },
        closed: (stream) => void closed.add(stream),
        exit: () => undefined,
      },
    })
    return new Recognizer(slot, heard, closed)
  }

  readonly #folder = mkdtempSync(join(tmpdir(), 'speech-bench-'))

  private constructor(
    private readonly slot: Slot,
    private readonly heard: Heard[],
    private readonly closed: Set<string>,
  ) {}

  async stop(): Promise<void> {
    await this.slot.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** As a media node does it: RTP packets of Opus in real time, gated by voice activity. */
  async inRealTime(speakers: readonly Speaker[]): Promise<Recognition> {
    const packets = speakers.flatMap(({ samples }, index) =>
      packetize(upsample(samples), { dtx: true, fec: true, levels: true, ssrc: index + 1, base: 0 }).map((packet) => ({
        ...packet,
        index,
      })),
    )
    packets.sort((one, other) => one.at - other.at)
    const names = this.#begin(speakers)
    const ports = new Map<number, number>()
    for (const [index, name] of names.entries()) {
      const format = { payloadType: PAYLOAD_TYPE, ssrc: index + 1, levelId: LEVEL_ID }
      const { port = 0 } = await this.slot.open(name, { kind: 'rtp', ...format })
      ports.set(index, port)
    }
    const before = this.#cpu
    const begin = await send(packets.map(({ data, at, index }) => ({ data, at, port: ports.get(index) ?? 0 })))
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const cpu = this.#cpu - before
    const latencies = speakers.flatMap(({ spoken }, index) =>
      spoken.flatMap(({ end }) => {
        const of = this.heard.filter(({ stream }) => stream === names[index])
        const match = of.find(({ result }) => Math.abs((result.end ?? Infinity) - end) < SAME_END)
        return match ? [(match.at - begin) / 1_000 - end] : []
      }),
    )
    for (const name of names) this.slot.close(name)
    await this.#allClosed(names)
    return { cpu, latencies, wordErrors: this.#wordErrors(speakers, names) }
  }

  /** The engine alone: one recognizer for each stream, which is fed all of its samples in real time. */
  async alone(speakers: readonly Speaker[]): Promise<Recognition> {
    const names = this.#begin(speakers)
    const before = this.#cpu
    for (const [index, { samples }] of speakers.entries()) {
      const path = join(this.#folder, String(index))
      writeFileSync(path, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength))
      await this.slot.open(nameOf(index), { kind: 'file', path, pace: 1 })
    }
    await this.#allClosed(names)
    return { cpu: this.#cpu - before, latencies: [], wordErrors: this.#wordErrors(speakers, names) }
  }

  get #cpu(): number {
    return cpuSeconds(this.slot.pid ?? 0)
  }

  #begin(speakers: readonly Speaker[]): string[] {
    this.heard.length = 0
    this.closed.clear()
    return speakers.map((_, index) => nameOf(index))
  }

  #allClosed(names: readonly string[]): Promise<unknown> {
    return until('all streams have ended', () => names.every((name) => this.closed.has(name)), LONG_MS)
  }

  #wordErrors(speakers: readonly Speaker[], names: readonly string[]): number {
    let [wrong, all] = [0, 0]
    for (const [index, { spoken }] of speakers.entries()) {
      const reference = spoken.map(({ text }) => text).join(' ')
      const of = this.heard.filter(({ stream }) => stream === names[index])
      const text = of.map(({ result }) => result.text).join(' ')
      // Whatever is recognized of a silent participant is wrong.
      wrong += spoken.length > 0 ? wordErrorRate(reference, text) * countWords(reference) : countWords(text)
      all += countWords(reference)
    }
    return wrong / all
  }
}

/** Sends each packet when it is due; resolves to the begin, by `performance.now()`. */
async function send(packets: readonly { data: Buffer; at: number; port: number }[]): Promise<number> {
  const socket = createSocket('udp4')
  const begin = performance.now()
  const waiting = packets.values()
  let next = waiting.next().value
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (; next && next.at <= performance.now() - begin; next = waiting.next().value)
        socket.send(next.data, next.port, '127.0.0.1')
      if (next) return
      clearInterval(timer)
      resolve()
    }, SEND_EVERY_MS)
  })
  socket.close()
  return begin
}

const nameOf = (index: number): string => `participant ${index + 1}`

const countWords = (text: string): number => text.split(' ').filter(Boolean).length
