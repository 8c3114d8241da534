import type { RoomRouter } from './room-router.js'

/** Expected for a new peer of an empty room: an audience often joins before two speakers publish. */
const MIN_TRACKS = 4

/** How many tracks will be sent to a peer that joins a room with this many tracks. */
export const expectedTracks = (tracksOfRoom: number): number => Math.max(MIN_TRACKS, tracksOfRoom)

/** A peer's share of a router: the tracks that are forwarded to it, and those expected soon. */
export class RouterShare {
  #consumers = 0

  constructor(
    readonly roomRouter: RoomRouter,
    private expected: number,
  ) {}

  load(tracksOfRoom: number): number {
    return Math.max(MIN_TRACKS, this.#consumers, Math.min(this.expected, tracksOfRoom))
  }

  consumersChanged(by: number): void {
    this.#consumers += by
    this.roomRouter.worker.consumers += by
  }

  /** The peer selects its subscriptions itself: no more are expected. */
  clearExpected(): void {
    this.expected = 0
  }
}
