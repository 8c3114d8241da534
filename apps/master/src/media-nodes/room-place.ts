/** A media node and the run of its process. */
export interface NodeBoot {
  nodeId: string
  bootId: string
}

/** The placement of a session's room; `epoch` counts the placements of the session. */
export interface RoomPlace extends NodeBoot {
  epoch: number
}

/** A room with its current or former placement. */
export interface PlacedRoom {
  roomId: string
  place: RoomPlace
}
