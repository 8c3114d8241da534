import { ServiceError, type ForcedVideoCodec, type HeldRoom, type RtpCapabilities } from '@session-service/contract'
import type { PoolWorker } from '../workers/pool-worker.js'
import { Room, type RoomContext } from './room.js'

/** Every room of the node. */
export class Rooms {
  readonly #rooms = new Map<string, Room>()
  readonly #opening = new Map<string, Promise<Room>>()
  #opened = 0
  /** Alike for all routers of a kind, and costly to ask for since mediasoup clones them each time. */
  readonly #capabilities = new Map<ForcedVideoCodec, RtpCapabilities>()

  /** `pickWorker` throws when the node takes no further room. */
  constructor(
    private readonly pickWorker: () => PoolWorker,
    private readonly context: RoomContext,
  ) {}

  get size(): number {
    return this.#rooms.size
  }

  /** None is there, and none on its way. */
  get isEmpty(): boolean {
    return this.#rooms.size === 0 && this.#opening.size === 0
  }

  /** How many there have ever been. */
  get opened(): number {
    return this.#opened
  }

  get ids(): string[] {
    return [...this.#rooms.keys()]
  }

  get held(): HeldRoom[] {
    return [...this.#rooms.values()].map(heldRoom)
  }

  [Symbol.iterator](): IterableIterator<Room> {
    return this.#rooms.values()
  }

  find(roomId: string): Room | undefined {
    return this.#rooms.get(roomId)
  }

  get(roomId: string): Room {
    const room = this.#rooms.get(roomId)
    if (room) return room
    throw new ServiceError('NOT_FOUND', `room ${roomId} is not on this node`, { subject: 'connection' })
  }

  /** The room, opened when it is not there; those who come at the same time get the same one. */
  async open({ roomId, epoch }: HeldRoom, videoCodec: ForcedVideoCodec): Promise<Room> {
    const already = this.#opening.get(roomId)
    if (already) {
      await already
      return this.open({ roomId, epoch }, videoCodec)
    }
    const there = this.#rooms.get(roomId)
    if (there?.epoch === epoch) return there
    if (there && there.epoch > epoch) throw new ServiceError('CONFLICT', `room ${roomId} is of a newer epoch`)
    this.#forget(there)
    const opening = this.#create({ roomId, epoch }, videoCodec).finally(() => this.#opening.delete(roomId))
    this.#opening.set(roomId, opening)
    return opening
  }

  capabilities(room: Room): RtpCapabilities {
    const known = this.#capabilities.get(room.videoCodec)
    if (known) return known
    const capabilities = room.rtpCapabilities
    this.#capabilities.set(room.videoCodec, capabilities)
    return capabilities
  }

  /** Closes the room unless it is newer than `epoch`. */
  async close({ roomId, epoch }: HeldRoom): Promise<void> {
    await this.#opening.get(roomId)?.catch(() => undefined)
    const room = this.#rooms.get(roomId)
    if (room && room.epoch <= epoch) this.#forget(room)
  }

  /** Returns what it closed. */
  async closeAll(): Promise<HeldRoom[]> {
    await Promise.all([...this.#opening.values()].map((opening) => opening.catch(() => undefined)))
    const { held } = this
    for (const room of [...this.#rooms.values()]) this.#forget(room)
    return held
  }

  /**
   * Ends the rooms that stood on a worker that died, also those of which only a part did: masters build them again whole.
   * @returns them
   */
  lose(worker: PoolWorker): HeldRoom[] {
    const lost = [...this.#rooms.values()].filter((room) => room.standsOn(worker))
    for (const room of lost) this.#forget(room)
    return lost.map(heldRoom)
  }

  #forget(room: Room | undefined): void {
    if (!room) return
    this.#rooms.delete(room.id)
    room.close()
  }

  async #create(held: HeldRoom, videoCodec: ForcedVideoCodec): Promise<Room> {
    const room = await Room.open(held, videoCodec, this.pickWorker(), this.context)
    this.#rooms.set(held.roomId, room)
    this.#opened += 1
    return room
  }
}

const heldRoom = ({ id, epoch }: Room): HeldRoom => ({ roomId: id, epoch })
