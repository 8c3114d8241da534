import { commitmentOf, costOf, GATHERING_MS, type Units } from '@session-service/contract'

/** What there is to know of a room. */
export interface RoomShape {
  readonly openedAt: number
  /** What it is made of now. */
  readonly units: Units
}

/** What a node that holds so much has committed itself to: that, and what its young rooms are going to grow to. */
export function committedTo(held: Units, rooms: Iterable<RoomShape>, now: number): number {
  let committed = costOf(held)
  for (const { openedAt, units } of young(rooms, now)) {
    const cost = costOf(units)
    committed += commitmentOf(cost, now - openedAt) - cost
  }
  return committed
}

/** What is made of older rooms is looked at by nobody, and never counted. */
function* young(rooms: Iterable<RoomShape>, now: number): Iterable<RoomShape> {
  for (const room of rooms) if (now - room.openedAt < GATHERING_MS) yield room
}
