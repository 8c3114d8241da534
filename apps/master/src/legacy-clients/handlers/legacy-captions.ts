import { type ErrorCode, ServiceError } from '@session-service/contract'
import { backoffMs, sleep } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { ParticipantCalls } from '../../signalling/rpc-handlers/participant-calls.js'
import type { ClientSocket } from '../../signalling/sockets/client-socket.js'
import type { LegacyParticipant } from './legacy-client.js'

/** The speaker is not back yet, or the language model is being loaded. */
const RETRIED: readonly ErrorCode[] = ['UNAVAILABLE', 'TIMEOUT', 'NOT_READY', 'NO_CAPACITY']
const RETRY = { firstMs: 1_000, longestMs: 10_000 }

/** Restores the captions of clients of version 2, as native clients do by themselves. */
@Injectable()
export class LegacyCaptions {
  readonly #logger = new Logger(LegacyCaptions.name)

  constructor(private readonly calls: ParticipantCalls) {}

  /** After a loss of the media, or of the socket: its end may have passed unnoticed. Has no effect on captions that go on. */
  repeatAll(socket: ClientSocket, legacy: LegacyParticipant): void {
    for (const [connectionId, lang] of legacy.captions)
      this.#repeat(socket, legacy, { connectionId, lang }).catch((error: unknown) => {
        this.#logger.warn({ err: error, connectionId }, 'restoring captions of a client failed')
      })
  }

  async #repeat(
    socket: ClientSocket,
    legacy: LegacyParticipant,
    caption: { connectionId: string; lang: string },
  ): Promise<void> {
    const { participant } = socket
    if (!participant) return
    const { place } = participant
    const { connectionId, lang } = caption
    const isWanted = (): boolean => socket.isOpen && legacy.captions.get(connectionId) === lang
    // When the media is lost again, the next rejoin repeats it.
    for (let failures = 0; isWanted() && participant.place === place;) {
      try {
        return void (await this.calls.call('subscribeToSpeechToText', participant, caption))
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        if (!RETRIED.includes(error.code)) return isWanted() ? end(socket, legacy, caption, error) : undefined
        await sleep(backoffMs(++failures, RETRY))
      }
    }
  }
}

/** As after a failure of the recognition, but for those that have left: the application may subscribe again. */
function end(
  socket: ClientSocket,
  { captions }: LegacyParticipant,
  { connectionId, lang }: { connectionId: string; lang: string },
  { code, subject, message }: ServiceError,
): void {
  // A later call of the client has replaced it.
  if (code === 'CONFLICT') return
  captions.delete(connectionId)
  if (code === 'NOT_FOUND' && subject !== 'languageModel') return
  socket.notify('speechToTextDisconnected', { connectionId, lang, message })
}
