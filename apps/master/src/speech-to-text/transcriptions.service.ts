import {
  describeIssues,
  type HeldRoom,
  type NodeCommandResult,
  ServiceError,
  TranscriptionBody,
  type TranscriptionView,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { NodeBoot, RoomPlace } from '../media-nodes/room-place.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { counted } from './speech-metrics.js'
import { hasTranscripts, speechSettings } from './speech-settings.js'
import { SessionTranscriptionRepository } from '../sessions/session-transcription.repository.js'

type Transcriptions = NonNullable<NodeCommandResult<'inventory'>['transcriptions']>

/** The media node cannot transcribe: a retry of the same request would fail as well, or later at best. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (['NOT_READY', 'NO_CAPACITY', 'LAUNCH_FAILED'].includes(error.code) ||
    (error.code === 'NOT_FOUND' && error.subject === 'languageModel'))

/**
 * The transcription of whole sessions. Its language is a part of the session; the media node of the session gets it with
 * the request, after each join of a participant, and from the reconciliation of its inventory. So it needs no order with
 * the placement of the session, and outlives media nodes and masters.
 */
@Injectable()
export class TranscriptionsService {
  constructor(
    private readonly transcriptions: SessionTranscriptionRepository,
    private readonly sessions: SessionsService,
    private readonly placement: RoomPlacement,
    private readonly nodeCommands: NodeCommands,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** A refusal of the media node leaves the former state. */
  async start(sessionId: string, body: unknown): Promise<TranscriptionView> {
    speechSettings(this.config)
    await this.sessions.require(sessionId)
    const parsed = TranscriptionBody.safeParse(body ?? {})
    if (!parsed.success) throw new ServiceError('INVALID', describeIssues(parsed.error).join('; '))
    if (!hasTranscripts(this.config))
      throw new ServiceError('DISABLED', 'transcripts are disabled (SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS)')
    const { lang } = parsed.data
    const changed = await this.transcriptions.set(sessionId, lang)
    if (!changed) {
      await this.sessions.require(sessionId)
      throw new ServiceError('CONFLICT', `the session ${sessionId} is transcribed in ${lang} already`)
    }
    try {
      const place = await this.placement.current(changed.roomId)
      if (place) await counted('transcribe', this.#startOn(place, changed.roomId, lang))
    } catch (error) {
      // Without an answer, or while the media is being moved, the next join or the reconciliation starts it.
      if (isRefusal(error)) {
        await this.transcriptions.revert(changed, lang)
        throw error
      }
      if (!(error instanceof ServiceError)) throw error
    }
    return transcriptionView(sessionId, lang)
  }

  async get(sessionId: string): Promise<TranscriptionView> {
    speechSettings(this.config)
    const lang = await this.transcriptions.ofSession(sessionId)
    if (lang !== undefined) return transcriptionView(sessionId, lang)
    await this.sessions.require(sessionId)
    throw noSuchTranscription(sessionId)
  }

  async stop(sessionId: string): Promise<void> {
    speechSettings(this.config)
    const changed = await this.transcriptions.set(sessionId, null)
    if (!changed) {
      await this.sessions.require(sessionId)
      throw noSuchTranscription(sessionId)
    }
    const { roomId } = changed
    const place = await this.placement.current(roomId)
    if (place) await this.nodeCommands.notify(place, 'stopTranscription', { roomId, epoch: place.epoch })
  }

  /** Starts the transcription after a participant has entered the room: the node may have opened it just now. */
  async entered(roomId: string, place: RoomPlace): Promise<void> {
    if (!hasTranscripts(this.config)) return
    const lang = await this.#langOf(roomId)
    if (lang === undefined) return
    const held = { roomId, epoch: place.epoch }
    await this.#notifyStart(place, held, lang)
    // The command of a request that changed the language meanwhile may have reached the node before this one.
    const current = await this.#langOf(roomId)
    if (current === undefined) await this.nodeCommands.notify(place, 'stopTranscription', held)
    else if (current !== lang) await this.#notifyStart(place, held, current)
  }

  /** Makes a node transcribe exactly those of its rooms whose sessions are to be transcribed. */
  async reconcile(node: NodeBoot, rooms: readonly HeldRoom[], present: Transcriptions = []): Promise<void> {
    const running = new Map(present.map(({ roomId, lang }) => [roomId, lang]))
    if (!hasTranscripts(this.config) && running.size === 0) return
    const wanted = hasTranscripts(this.config)
      ? await this.transcriptions.languages(rooms.map(({ roomId }) => roomId))
      : new Map<string, string>()
    for (const { roomId, epoch } of rooms) {
      const lang = wanted.get(roomId)
      if (running.get(roomId) === lang) continue
      // Starting waits for the model, which must not delay the reconciliation.
      if (lang !== undefined) void this.#notifyStart(node, { roomId, epoch }, lang)
      else await this.nodeCommands.notify(node, 'stopTranscription', { roomId, epoch })
    }
  }

  async #langOf(roomId: string): Promise<string | undefined> {
    return (await this.transcriptions.languages([roomId])).get(roomId)
  }

  #startOn(place: RoomPlace, roomId: string, lang: string): Promise<unknown> {
    const settings = speechSettings(this.config)
    const { epoch } = place
    return this.nodeCommands.requestWhileAlive(place, 'startTranscription', { roomId, epoch, lang, settings })
  }

  #notifyStart(node: Pick<NodeBoot, 'nodeId'>, held: HeldRoom, lang: string): Promise<void> {
    return this.nodeCommands.notify(node, 'startTranscription', {
      ...held,
      lang,
      settings: speechSettings(this.config),
    })
  }
}

const transcriptionView = (sessionId: string, lang: string): TranscriptionView => ({
  object: 'transcription',
  sessionId,
  lang,
})

const noSuchTranscription = (sessionId: string): ServiceError =>
  new ServiceError('NOT_FOUND', `the session ${sessionId} is not transcribed`)
