import type { Branch } from './room-router.js'

/** Who comes will see and hear people, two of them say, though nobody may have published yet: an audience often waits. */
const TRACKS_AT_LEAST = 4

/** How many tracks somebody will be sent who comes into a room with so many. */
export const expectedTracks = (tracksOfRoom: number): number => Math.max(TRACKS_AT_LEAST, tracksOfRoom)

/** A peer's place at a branch: what is forwarded to it, and what soon will be. */
export class Seat {
  #consumers = 0

  constructor(
    readonly branch: Branch,
    private expected: number,
  ) {}

  load(tracksOfRoom: number): number {
    return Math.max(TRACKS_AT_LEAST, this.#consumers, Math.min(this.expected, tracksOfRoom))
  }

  consumersChanged(by: number): void {
    this.#consumers += by
    this.branch.worker.consumers += by
  }

  /** The peer chooses what it receives: no more is expected of it. */
  settle(): void {
    this.expected = 0
  }
}
