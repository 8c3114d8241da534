import { ServiceError, type HeldRoom, type RtpCapabilities } from '@session-service/contract'
import type { RoomCodecs } from '../routers/codecs.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { Room, type RoomContext } from './room.js'

/** The rooms of the node. */
export class Rooms {
  readonly #rooms = new Map<string, Room>()
  readonly #opening = new Map<string, Promise<Room>>()
  readonly #openedListeners = new Set<() => void>()
  #opened = 0
  /** Equal for all routers with the same codecs, and expensive to read: mediasoup clones them each time. */
  readonly #capabilities = new Map<string, RtpCapabilities>()

  /** `pickWorker` throws when the node accepts no rooms. */
  constructor(
    private readonly pickWorker: () => PoolWorker,
    private readonly context: RoomContext,
  ) {}

  get size(): number {
    return this.#rooms.size
  }

  /** No room is open or being opened. */
  get isEmpty(): boolean {
    return this.#rooms.size === 0 && this.#opening.size === 0
  }

  /** Calls the listener with each room that was opened. Returns how to remove it. */
  onOpened(listener: () => void): () => void {
    this.#openedListeners.add(listener)
    return () => void this.#openedListeners.delete(listener)
  }

  /** The number of rooms opened since the start. */
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

  /** Opens the room unless it is open; concurrent calls get the same room. */
  async open({ roomId, epoch }: HeldRoom, codecs: RoomCodecs): Promise<Room> {
    const pending = this.#opening.get(roomId)
    if (pending) {
      await pending
      return this.open({ roomId, epoch }, codecs)
    }
    const present = this.#rooms.get(roomId)
    if (present?.epoch === epoch) return present
    if (present && present.epoch > epoch) throw new ServiceError('CONFLICT', `room ${roomId} is of a newer epoch`)
    this.#remove(present)
    const opening = this.#create({ roomId, epoch }, codecs).finally(() => this.#opening.delete(roomId))
    this.#opening.set(roomId, opening)
    return opening
  }

  capabilities(room: Room): RtpCapabilities {
    const { videoCodec, allowTranscoding } = room.codecs
    const key = `${videoCodec}/${allowTranscoding}`
    const known = this.#capabilities.get(key)
    if (known) return known
    const capabilities = room.rtpCapabilities
    this.#capabilities.set(key, capabilities)
    return capabilities
  }

  /** Closes the room unless it is newer than `epoch`. */
  async close({ roomId, epoch }: HeldRoom): Promise<void> {
    await this.#opening.get(roomId)?.catch(() => undefined)
    const room = this.#rooms.get(roomId)
    if (room && room.epoch <= epoch) this.#remove(room)
  }

  /** Returns the closed rooms. */
  async closeAll(): Promise<HeldRoom[]> {
    await Promise.all([...this.#opening.values()].map((opening) => opening.catch(() => undefined)))
    const { held } = this
    for (const room of [...this.#rooms.values()]) this.#remove(room)
    return held
  }

  /**
   * Closes the rooms with a router on a worker that died: masters recreate them as a whole.
   * @returns the closed rooms
   */
  lose(worker: PoolWorker): HeldRoom[] {
    const lost = [...this.#rooms.values()].filter((room) => room.usesWorker(worker))
    for (const room of lost) this.#remove(room)
    return lost.map(heldRoom)
  }

  #remove(room: Room | undefined): void {
    if (!room) return
    this.#rooms.delete(room.id)
    room.close()
  }

  async #create(held: HeldRoom, { videoCodec, allowTranscoding }: RoomCodecs): Promise<Room> {
    const room = await Room.open(held, { videoCodec, allowTranscoding }, this.pickWorker(), this.context)
    this.#rooms.set(held.roomId, room)
    this.#opened += 1
    for (const listener of this.#openedListeners) listener()
    return room
  }
}

const heldRoom = ({ id, epoch }: Room): HeldRoom => ({ roomId: id, epoch })
