import type { AudioSink } from '../engines/audio-source.js'
import type { AudioFormat } from './audio-format.js'
import { opusPacketInfo, type OpusPacketInfo } from './opus-packet.js'
import { PreRoll } from './pre-roll.js'
import { type Ordered, ReorderBuffer, type ReorderCounters } from './reorder-buffer.js'
import { isRtcp, parseRtp, type RtpPacket } from './rtp-packet.js'
import { type Frame, type OutputCounters, SpeechOutput } from './speech-output.js'
import { Timeline } from './timeline.js'
import { type GateState, levelOf, VoiceGate } from './voice-gate.js'

export interface AudioCounters extends ReorderCounters, OutputCounters {
  /** RTP packets that arrived. */
  packets: number
  malformed: number
  /** With a level, so that they need not be decoded to find speech. */
  levels: number
  /** Packets of another source or payload type. */
  foreign: number
  utterances: number
}

interface AudioPacket extends RtpPacket {
  info: OpusPacketInfo
  at: number
  isTimely: boolean
}

/** 48 kHz to 16 kHz. */
const RATIO = 3
const PER_MS = 16
/** Longer than packets wait for a missing one; without packets for longer, time passes as silence. */
const PATIENCE_MS = 150

/** The way of one stream from RTP packets to speech for the recognizer. Times are parameters, ms since its begin. */
export class AudioPipeline {
  readonly #received = { packets: 0, malformed: 0, levels: 0, foreign: 0, utterances: 0 }
  readonly #format: AudioFormat
  readonly #sink: AudioSink
  readonly #reorder = new ReorderBuffer<AudioPacket>()
  readonly #timeline = new Timeline()
  readonly #gate = new VoiceGate()
  readonly #preRoll = new PreRoll<Frame>()
  readonly #output: SpeechOutput
  #ssrc: number | undefined
  #isRestart = false
  #lastAt = 0

  constructor(format: AudioFormat, sink: AudioSink) {
    this.#format = format
    this.#sink = sink
    this.#output = new SpeechOutput(sink)
  }

  get counters(): AudioCounters {
    return { ...this.#received, ...this.#reorder.counters, ...this.#output.counters }
  }

  /** @param isTimely false if the packet may have waited because this process was stalled */
  packet(data: Uint8Array, at: number, isTimely: boolean): void {
    if (isRtcp(data)) return
    this.#received.packets++
    const packet = parseRtp(data, this.#format.levelId)
    const info = packet && opusPacketInfo(packet.payload)
    if (packet && packet.payloadType !== this.#format.payloadType) return void this.#received.foreign++
    if (!packet || !info) return void this.#received.malformed++
    if (this.#format.ssrc !== undefined && packet.ssrc !== this.#format.ssrc) return void this.#received.foreign++
    if (packet.ssrc !== this.#ssrc) this.#changeSource(packet.ssrc)
    if (packet.level !== undefined) this.#received.levels++
    this.#lastAt = at
    this.#handle(this.#reorder.push({ ...packet, info, at, isTimely }, at))
  }

  /** Called several times a second. */
  tick(now: number, isTimely: boolean): void {
    // After a stall packets wait in the socket.
    if (!isTimely) return
    if (this.#reorder.waiting > 0) this.#handle(this.#reorder.expire(now))
    const quietMs = now - this.#lastAt - PATIENCE_MS
    if (this.#gate.isOpen && quietMs > 0 && this.#gate.elapse(this.#timeline.end + quietMs * PER_MS))
      this.#endUtterance()
  }

  /** Sends the audio that still waits for a missing packet. */
  close(): void {
    this.#handle(this.#reorder.flush())
    this.#output.close()
  }

  #changeSource(ssrc: number): void {
    if (this.#ssrc !== undefined) {
      this.#handle(this.#reorder.flush())
      this.#reorder.counters.restarts++
      this.#isRestart = true
    }
    this.#ssrc = ssrc
  }

  #handle(ordered: readonly Ordered<AudioPacket>[]): void {
    for (const { packet, lost, isRestart } of ordered) this.#place(packet, lost, isRestart || this.#isRestart)
  }

  #place(packet: AudioPacket, lost: number, isRestart: boolean): void {
    const { timestamp, info, at, isTimely, payload } = packet
    if (packet.ssrc === this.#ssrc) this.#isRestart = false
    const arrival = { at, isTimely, isRestart, canAdjust: !this.#gate.isOpen }
    const placement = this.#timeline.place({ timestamp, samples: info.samples }, arrival)
    if (!placement) return
    const frame: Frame = {
      position: placement.position,
      samples: info.samples / RATIO,
      payload,
      isDtx: info.isDtx,
      isAfterLoss: lost > 0,
      pcm: undefined,
    }
    this.#judge(frame, packet)
  }

  #judge(frame: Frame, { level, info }: AudioPacket): void {
    if (this.#gate.elapse(frame.position)) this.#endUtterance()
    if (this.#gate.isOpen) {
      const pcm = this.#output.add(frame)
      this.#listen(frame, info, level ?? levelOf(pcm))
    } else if (this.#listen(frame, info, level ?? this.#measure(frame, info)) === 'opened') {
      const begin = this.#output.preRollBegin(frame.position)
      this.#output.begin([...this.#preRoll.take(begin), frame], begin)
    } else this.#preRoll.push(frame)
  }

  /** Without a level there is nothing to judge. */
  #listen(
    { position, samples }: Frame,
    { hasVoice }: OpusPacketInfo,
    level: number | undefined,
  ): GateState | undefined {
    return level === undefined ? undefined : this.#gate.next({ position, samples, level, hasVoice })
  }

  /** Decodes to measure the level, unless the encoder has detected silence: then it is not needed. */
  #measure(frame: Frame, { isDtx, hasVoice }: OpusPacketInfo): number | undefined {
    if (isDtx || hasVoice === false) return undefined
    frame.pcm = this.#output.decode(frame)
    return frame.pcm && levelOf(frame.pcm)
  }

  #endUtterance(): void {
    this.#received.utterances++
    this.#sink.utteranceEnd(this.#gate.voiceEnd)
  }
}
