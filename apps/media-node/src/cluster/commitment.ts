import { commitmentOf, costOf, GATHERING_MS, type Units } from '@session-service/contract'

export interface RoomShape {
  readonly openedAt: number
  /** Its current size. */
  readonly units: Units
}

/** The cost of what a node holds, plus the expected growth of its young rooms. */
export function committedTo(held: Units, rooms: Iterable<RoomShape>, now: number): number {
  let committed = costOf(held)
  for (const { openedAt, units } of youngRooms(rooms, now)) {
    const cost = costOf(units)
    committed += commitmentOf(cost, now - openedAt) - cost
  }
  return committed
}

/** The units of older rooms are not needed, and counting them has a cost. */
function* youngRooms(rooms: Iterable<RoomShape>, now: number): Iterable<RoomShape> {
  for (const room of rooms) if (now - room.openedAt < GATHERING_MS) yield room
}
