import { PictureState } from '../composed/picture-state.js'
import type { SceneStream } from '../composed/scene.js'
import type { TimelineEntry } from './timeline.js'

type Send = (...words: readonly (string | number)[]) => void
type Of<Event extends TimelineEntry['event']> = Extract<TimelineEntry, { event: Event }>
type Added = Of<'added'>

/** A source of the log as the picture shows it. */
class ReplayedSource implements SceneStream {
  readonly id: string
  readonly picture = new PictureState()
  tracks: Added | undefined

  constructor(
    source: number,
    readonly name: string,
    readonly isScreen: boolean,
    public isActive: boolean,
  ) {
    this.id = String(source)
  }

  get isAdded(): boolean {
    return this.tracks !== undefined
  }

  get showsPicture(): boolean {
    return this.picture.hasPicture && this.wantsPicture
  }

  get wantsPicture(): boolean {
    return this.isActive && (this.tracks?.video ?? -1) >= 0
  }
}

/** A published stream: the source that is shown, and the one that takes its place with its first picture. */
interface ReplayedStream {
  current: ReplayedSource
  successor?: ReplayedSource | undefined
}

/** The streams of a recording at a point of its timeline; what changes is sent to the compositor. */
export class ReplayedStreams {
  readonly #streams: ReplayedStream[] = []
  /** By the number of each of its sources. */
  readonly #bySource = new Map<number, ReplayedStream>()

  constructor(private readonly send: Send) {}

  /** In the order of their publication. */
  get shown(): readonly SceneStream[] {
    return this.#streams.map(({ current }) => current)
  }

  apply(entry: TimelineEntry): void {
    switch (entry.event) {
      case 'published':
        return this.#publish(entry)
      case 'added':
        return this.#add(entry)
      case 'changed':
        return this.#change(entry)
      case 'replaced':
        return this.#replace(entry)
      case 'unpublished':
        return this.#unpublish(entry)
      default:
    }
  }

  /** The first picture of a source was decoded, or the next one after `await`. */
  decoded(source: number): void {
    const stream = this.#bySource.get(source)
    const replayed = stream && sourceOf(stream, source)
    if (!replayed?.picture.decoded(replayed.wantsPicture)) return
    if (replayed === stream?.successor) this.#succeed(stream)
  }

  /** The pictures of the source cannot be decoded. */
  refused(source: number): void {
    const stream = this.#bySource.get(source)
    const replayed = stream && sourceOf(stream, source)
    if (!stream || !replayed?.tracks) return
    replayed.tracks = { ...replayed.tracks, video: -1 }
    if (replayed === stream.successor) this.#succeed(stream)
  }

  #publish({ source, name, isScreen, isActive }: Of<'published'>): void {
    const stream = { current: new ReplayedSource(source, name, isScreen, isActive) }
    this.#streams.push(stream)
    this.#bySource.set(source, stream)
  }

  #add(entry: Added): void {
    const stream = this.#bySource.get(entry.source)
    const replayed = stream && sourceOf(stream, entry.source)
    if (!stream || !replayed) return
    replayed.tracks = entry
    const isHeard = replayed === stream.current
    this.send('add', entry.source, entry.codec, entry.video, isHeard ? entry.audio : -1)
    if (!isHeard && !replayed.wantsPicture) this.#succeed(stream)
  }

  #change({ source, isActive }: Of<'changed'>): void {
    const stream = this.#bySource.get(source)
    if (!stream) return
    for (const replayed of [stream.current, ...(stream.successor ? [stream.successor] : [])]) {
      replayed.isActive = isActive
      if (replayed.picture.changed(replayed.wantsPicture)) this.send('await', replayed.id)
    }
    // A muted stream has no next picture.
    if (!isActive && stream.successor) this.#succeed(stream)
  }

  #replace({ source, by }: Of<'replaced'>): void {
    const stream = this.#bySource.get(source)
    if (!stream) return
    if (stream.successor) this.#forget(stream.successor)
    const { name, isScreen, isActive, showsPicture } = stream.current
    stream.successor = new ReplayedSource(by, name, isScreen, isActive)
    this.#bySource.set(by, stream)
    if (!showsPicture) this.#succeed(stream)
  }

  /** The former source is heard until then. */
  #succeed(stream: ReplayedStream): void {
    const { current: former, successor } = stream
    if (!successor) return
    stream.current = successor
    stream.successor = undefined
    this.#forget(former)
    const { tracks } = successor
    if (tracks && tracks.audio >= 0) this.send('add', successor.id, tracks.codec, tracks.video, tracks.audio)
  }

  #unpublish({ source }: Of<'unpublished'>): void {
    const stream = this.#bySource.get(source)
    if (!stream) return
    this.#streams.splice(this.#streams.indexOf(stream), 1)
    this.#forget(stream.current)
    if (stream.successor) this.#forget(stream.successor)
  }

  #forget({ id, tracks }: ReplayedSource): void {
    this.#bySource.delete(Number(id))
    if (tracks) this.send('remove', id)
  }
}

const sourceOf = ({ current, successor }: ReplayedStream, source: number): ReplayedSource | undefined =>
  [current, successor].find((one) => one?.id === String(source))
