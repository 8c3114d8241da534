/** A media node, and which start of its process. */
export interface NodeBoot {
  nodeId: string
  bootId: string
}

/** Where a session's room is; `epoch` counts how often the session was placed. */
export interface RoomPlace extends NodeBoot {
  epoch: number
}

/** A room, and where it is or was. */
export interface PlacedRoom {
  roomId: string
  place: RoomPlace
}
