import { commitmentOf, costOf, type Units } from '@session-service/contract'

export interface RoomShape {
  readonly openedAt: number
  /** Its current size. */
  readonly units: Units
}

/** The cost of what a node holds, plus the expected growth of its young rooms. */
export function committedTo(held: Units, rooms: Iterable<RoomShape>, now: number): number {
  let committed = costOf(held)
  for (const { openedAt, units } of rooms) {
    const cost = costOf(units)
    committed += commitmentOf(cost, now - openedAt) - cost
  }
  return committed
}
