import type { Connection, Publisher, Session, Stream } from '@session-service/client'
import { FilterMenu } from '../filters/filter-menu.js'
import { Grid } from './grid.js'
import { nicknameOf } from '../text/names.js'
import type { Notices } from '../ui/notices.js'
import { NameBatch } from './name-batch.js'
import { Tile } from './tile.js'
import { cameraInWords, errorInWords, filterProblemInWords, networkInWords } from '../text/words.js'

/** The data of a camera may be its name. */
export const nameOf = ({ serverData, cameraStatus }: Connection): string =>
  nicknameOf(serverData) || (cameraStatus ? serverData.trim() || 'Camera' : 'Guest')
const isScreen = (stream: Stream): boolean => stream.typeOfVideo === 'SCREEN'

/** The tiles of the session: one for each participant, with or without video, and one for each shared screen. */
export class People {
  readonly grid = new Grid()
  readonly #persons = new Map<string, Tile>()
  readonly #screens = new Map<string, Tile>()
  /** False while joining: participants that are already present are not announced. */
  #announces = false

  readonly #joined = new NameBatch((names) => this.#notices.say(`${names} joined`))
  readonly #left = new NameBatch((names) => this.#notices.say(`${names} left`))
  readonly #session: Session
  readonly #notices: Notices
  readonly #changed: () => void

  constructor(session: Session, notices: Notices, changed: () => void) {
    this.#session = session
    this.#notices = notices
    this.#changed = changed

    session.on('connectionCreated', ({ connection }) => this.#enter(connection))
    session.on('connectionDestroyed', ({ connection }) => this.#leave(connection))
    session.on('streamCreated', ({ stream }) => void this.#receive(stream))
    session.on('streamDestroyed', ({ stream }) => this.#ended(stream))
    session.on('streamPropertyChanged', ({ stream }) => this.tileOf(stream)?.update())
    session.on('cameraStatusChanged', ({ connection }) => this.#showCamera(connection))
    session.on('networkQualityLevelChanged', ({ connection }) => this.#showNetwork(connection))
    session.on('connectionPropertyChanged', ({ connection }) => this.#persons.get(connection.connectionId)?.update())
    session.on('reconnecting', () => this.#wait())
  }

  get count(): number {
    return this.#persons.size
  }

  announceFromNow(): void {
    this.#announces = true
  }

  /** Shows the own video until the publisher ends. */
  showOwn(publisher: Publisher): void {
    const { stream } = publisher
    if (!stream) return
    const tile = this.#tileFor(stream)
    tile.show(stream, publisher)
    tile.offerFilters(this.#filterMenu(stream))
    publisher.on('streamDestroyed', () => this.#ended(stream))
    this.#changed()
  }

  #filterMenu(stream: Stream): FilterMenu {
    const failed = (error: unknown): void => this.#notices.say(filterProblemInWords(error), 'problem')
    return new FilterMenu({ stream, allowed: () => this.#session.allowedFilters, failed })
  }

  tileOf(stream: Stream): Tile | undefined {
    return isScreen(stream) ? this.#screens.get(stream.streamId) : this.#persons.get(stream.connection.connectionId)
  }

  close(): void {
    this.grid.close()
  }

  #enter(connection: Connection): void {
    const tile = new Tile({ name: nameOf(connection), local: connection.local }, false)
    this.#persons.set(connection.connectionId, tile)
    this.grid.add(tile)
    this.#showCamera(connection)
    this.#showNetwork(connection)
    if (this.#announces && !connection.local) this.#joined.add(nameOf(connection))
    this.#changed()
  }

  /** Shows whether the service reads an IP camera. */
  #showCamera({ connectionId, cameraStatus, cameraError }: Connection): void {
    if (cameraStatus) this.#persons.get(connectionId)?.showCamera(cameraInWords(cameraStatus, cameraError))
  }

  #showNetwork({ connectionId, networkQuality }: Connection): void {
    this.#persons.get(connectionId)?.showNetwork(networkQuality, networkInWords(networkQuality))
  }

  #leave(connection: Connection): void {
    const tile = this.#persons.get(connection.connectionId)
    this.#persons.delete(connection.connectionId)
    if (tile) this.grid.remove(tile)
    this.#left.add(nameOf(connection))
    this.#changed()
  }

  async #receive(stream: Stream): Promise<void> {
    const tile = this.#tileFor(stream)
    try {
      const subscriber = await this.#session.subscribe(stream)
      tile.show(stream, subscriber)
      this.#changed()
    } catch (error) {
      // The error of a stream that has ended meanwhile is expected.
      if (this.#session.streams.has(stream.streamId))
        this.#notices.say(`${nameOf(stream.connection)} cannot be shown. ${errorInWords(error)}`, 'problem')
    }
  }

  /** Marks streams without media. A loss of the socket alone does not interrupt media. */
  #wait(): void {
    for (const { stream, receiving } of this.#session.subscribers.values()) if (!receiving) this.tileOf(stream)?.wait()
  }

  #ended(stream: Stream): void {
    if (!isScreen(stream)) return this.#persons.get(stream.connection.connectionId)?.clear()
    const tile = this.#screens.get(stream.streamId)
    this.#screens.delete(stream.streamId)
    if (tile) this.grid.remove(tile)
    this.#changed()
  }

  #tileFor(stream: Stream): Tile {
    const existing = this.tileOf(stream)
    if (existing) return existing
    const { connection } = stream
    const tile = new Tile({ name: nameOf(connection), local: connection.local }, isScreen(stream))
    if (isScreen(stream)) this.#screens.set(stream.streamId, tile)
    else this.#persons.set(connection.connectionId, tile)
    this.grid.add(tile)
    return tile
  }
}
