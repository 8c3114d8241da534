import { EXPERIENCE_LIMITS, type SignallingParams, type TransportDirection } from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import type { Engine } from '../media/engine.js'
import type { JoinTimes } from '../signalling/signalling.js'

type Report = SignallingParams<'reportExperience'>
type Playback = NonNullable<Report['playback']>

/** The session whose experience is reported. */
interface ReportedSession {
  readonly clock: Clock
  readonly media: { readonly engine: Pick<Engine, 'stats'> }
  readonly signalling: { report(report: Report): void }
}

/** Time for the steps of joining before they are reported, ms. */
const FIRST_REPORT_MS = 10_000
const REPORTS_MS = 30_000

/** The members of WebRTC statistics that are read here. Browsers omit some of them. */
interface Stat {
  id: string
  type: string
  kind?: string
  nominated?: boolean
  state?: string
  localCandidateId?: string
  candidateType?: string
  protocol?: string
  freezeCount?: number
  totalFreezesDuration?: number
}

interface Counted {
  freezes: number
  frozenSeconds: number
}

const valuesOf = (report: RTCStatsReport): Stat[] => [...(report as unknown as ReadonlyMap<string, Stat>).values()]

/** How the media is sent. Undefined while no candidate pair is selected. */
function candidateOf(stats: readonly Stat[]): Report['candidate'] {
  const pair = stats.find(
    ({ type, nominated, state }) => type === 'candidate-pair' && nominated && state === 'succeeded',
  )
  const local = stats.find(({ id }) => id === pair?.localCandidateId)
  if (local?.candidateType === 'relay') return 'relay'
  return local?.protocol === 'udp' || local?.protocol === 'tcp' ? local.protocol : undefined
}

const countsOf = (stats: readonly Stat[]): Map<string, Counted> =>
  new Map(
    stats
      .filter(({ type, kind, freezeCount }) => type === 'inbound-rtp' && kind === 'video' && freezeCount !== undefined)
      .map(({ id, freezeCount = 0, totalFreezesDuration = 0 }) => [
        id,
        { freezes: freezeCount, frozenSeconds: totalFreezesDuration },
      ]),
  )

/** The playback of the videos that both samples contain. Undefined when there is none. */
export function playbackBetween(
  before: ReadonlyMap<string, Counted>,
  now: ReadonlyMap<string, Counted>,
  seconds: number,
): Playback | undefined {
  const sum = { videoSeconds: 0, freezes: 0, frozenSeconds: 0 }
  for (const [id, { freezes, frozenSeconds }] of now) {
    const former = before.get(id)
    if (!former) continue
    sum.videoSeconds += seconds
    sum.freezes += Math.max(0, freezes - former.freezes)
    sum.frozenSeconds += Math.max(0, frozenSeconds - former.frozenSeconds)
  }
  if (sum.videoSeconds === 0) return undefined
  return {
    videoSeconds: Math.min(sum.videoSeconds, EXPERIENCE_LIMITS.videoSeconds),
    freezes: Math.min(sum.freezes, EXPERIENCE_LIMITS.freezes),
    frozenSeconds: Math.min(sum.frozenSeconds, EXPERIENCE_LIMITS.videoSeconds),
  }
}

/** Measures what the participant experiences, and reports it to the service for its metrics. */
export class Experience {
  readonly #join: JoinTimes
  readonly #session: ReportedSession
  #isJoinReported = false
  #connectingAt: number | undefined
  #subscribedAt: number | undefined
  #counts: ReadonlyMap<string, Counted> = new Map()
  #countedAt = 0
  #cancel = (): void => {}
  #isStopped = false

  constructor(join: JoinTimes, session: ReportedSession) {
    this.#join = join
    this.#session = session
  }

  start(): void {
    if (!this.#isStopped) this.#schedule(FIRST_REPORT_MS)
  }

  /** Ends the reports. Reports a short participation now, without the statistics, which take time. */
  stop(): void {
    this.#isStopped = true
    this.#cancel()
    if (!this.#isJoinReported) this.#session.signalling.report({ join: bounded(this.#join) })
    this.#isJoinReported = true
  }

  /** The connection of a media transport has changed. */
  stateChanged(state: RTCPeerConnectionState): void {
    const now = this.#session.clock.now()
    if (state === 'connecting') this.#connectingAt ??= now
    if (state === 'connected' && this.#connectingAt !== undefined) this.#join.iceMs ??= now - this.#connectingAt
  }

  /** Returns the function to call when the subscription shows its first frame. */
  subscribing(): () => void {
    if (this.#subscribedAt !== undefined) return () => {}
    const subscribedAt = (this.#subscribedAt = this.#session.clock.now())
    return () => (this.#join.mediaMs ??= this.#session.clock.now() - subscribedAt)
  }

  #schedule(ms: number): void {
    this.#cancel = this.#session.clock.after(ms, () => {
      let isStopped = false
      this.#cancel = () => (isStopped = true)
      void this.#report(() => isStopped).then(() => isStopped || this.#schedule(REPORTS_MS))
    })
  }

  async #report(isStopped: () => boolean): Promise<void> {
    const isFirst = !this.#isJoinReported
    this.#isJoinReported = true
    const { send, recv } = await this.#stats()
    const candidate = isFirst ? (candidateOf(recv) ?? candidateOf(send)) : undefined
    const playback = this.#playback(recv)
    if (isStopped() || (!isFirst && !playback)) return
    this.#session.signalling.report({
      ...(isFirst && { join: bounded(this.#join) }),
      ...(candidate && { candidate }),
      ...(playback && { playback }),
    })
  }

  /** Empty while the media is lost. */
  async #stats(): Promise<Record<TransportDirection, Stat[]>> {
    try {
      const { send, recv } = await this.#session.media.engine.stats()
      return { send: valuesOf(send), recv: valuesOf(recv) }
    } catch {
      return { send: [], recv: [] }
    }
  }

  #playback(recv: readonly Stat[]): Playback | undefined {
    const [before, beforeAt] = [this.#counts, this.#countedAt]
    this.#counts = countsOf(recv)
    this.#countedAt = this.#session.clock.now()
    return playbackBetween(before, this.#counts, (this.#countedAt - beforeAt) / 1_000)
  }
}

const bounded = (times: JoinTimes): JoinTimes => {
  const entries = Object.entries(times).map(([name, ms]) => [name, Math.min(ms, EXPERIENCE_LIMITS.stepMs)])
  return Object.fromEntries(entries) as JoinTimes
}
