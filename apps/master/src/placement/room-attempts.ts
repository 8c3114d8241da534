import { type ErrorCode, ServiceError } from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { type JoiningParticipant, RoomPlacement } from './room-placement.js'

/** `sessionId` is for logs. */
type EnteringParticipant = JoiningParticipant & { sessionId: string }

const MAX_ATTEMPTS = 6

/** Failures after which another node may succeed. DISABLED: the node lacks a program. */
const REFUSALS: readonly ErrorCode[] = ['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT', 'DISABLED']

interface RoomAttempt<Result> {
  /** Opens the participant's media. `canFailOver`: another node may take the session when this one does not answer. */
  run: (place: RoomPlace, canFailOver: boolean) => Promise<Result>
  /** The node has no capacity, and the session cannot be placed on another node because of its other participants. */
  onFull?: (place: RoomPlace) => Promise<void>
  /** Called before each run; throws when its result is not wanted any more. */
  requireWanted?: (() => void) | undefined
}

/** Runs commands at the place of a session, and on another node when that one refuses. */
@Injectable()
export class RoomAttempts {
  readonly #logger = new Logger(RoomAttempts.name)

  constructor(private readonly placement: RoomPlacement) {}

  /** Places the session first if it has no node. */
  async enter<Result>(
    participant: EnteringParticipant,
    { run, onFull, requireWanted }: RoomAttempt<Result>,
  ): Promise<{ result: Result; place: RoomPlace }> {
    const refusals = new Map<string, ServiceError>()
    for (let attempt = 1; ; attempt++) {
      const placed = this.placement.of(participant, new Set(refusals.keys()))
      const { place, isNew } = await placed.catch((error: unknown) => {
        throw lackedBy(refusals, error) ?? error
      })
      requireWanted?.()
      const canFailOver = isNew && participant.forcedNodeId === null && this.placement.hasAlternative(place.nodeId)
      try {
        return { result: await run(place, canFailOver), place }
      } catch (error) {
        if (!(error instanceof ServiceError) || attempt === MAX_ATTEMPTS) throw error
        if (!(await this.#canRetry(participant, place, error, { refusals, onFull }))) throw error
      }
    }
  }

  /** Whether another node, or the node that the session has moved to meanwhile, may accept the participant. */
  async #canRetry(
    participant: EnteringParticipant,
    place: RoomPlace,
    error: ServiceError,
    { refusals, onFull }: { refusals: Map<string, ServiceError>; onFull: RoomAttempt<unknown>['onFull'] },
  ): Promise<boolean> {
    const { roomId } = participant
    const { code, message } = error
    if (code === 'CONFLICT' || code === 'NOT_FOUND') {
      return (await this.placement.current(roomId))?.epoch !== place.epoch
    }
    if (!REFUSALS.includes(code) || refusals.has(place.nodeId)) return false
    this.#logger.warn(
      { mediaNodeId: place.nodeId, uniqueSessionId: roomId },
      `the media node did not accept the session: ${message}`,
    )
    refusals.set(place.nodeId, error)
    const isFree = await this.placement.refused(participant, place)
    if (!isFree && code === 'NO_CAPACITY') await onFull?.(place)
    return true
  }
}

/** The error of nodes of which each lacks the program: it explains more than that none is available. */
function lackedBy(refusals: ReadonlyMap<string, ServiceError>, error: unknown): ServiceError | undefined {
  if (!(error instanceof ServiceError) || error.code !== 'NO_CAPACITY') return undefined
  const errors = [...refusals.values()]
  return errors.every(({ code }) => code === 'DISABLED') ? errors[0] : undefined
}
