import type { NativeLayout } from '@session-service/contract'
import { arrange, cameraBox, type Box, type Shown, type Size } from './layout.js'

const TILE_Z = 1
const PICTURE_Z = 2

/** A stream of the picture. */
export interface SceneStream extends Shown {
  name: string
  /** Whether the compositor knows it. */
  isAdded: boolean
  showsPicture: boolean
  /** Called with the box of its picture. */
  fit?(box: Box): void
}

/** Sends the compositor the position of each stream when it has changed. */
export class Scene {
  /** The last commands by stream: the positions of its picture and of its name tile. */
  readonly #sent = new Map<string, { picture: string; tile: string }>()

  constructor(
    private readonly layout: NativeLayout,
    private readonly size: Size,
    private readonly compositor: { send(...words: readonly (string | number)[]): void },
  ) {}

  arrange(streams: readonly SceneStream[]): void {
    const boxes = arrange(this.layout, streams, this.size)
    for (const id of this.#sent.keys()) if (!boxes.has(id)) this.#leave(id)
    streams.forEach((stream, nth) => {
      const box = boxes.get(stream.id)
      if (box) this.#show(stream, box, nth)
    })
  }

  /** The later one of overlapping streams is in front: an inset covers the large picture. */
  #show(stream: SceneStream, box: Box, nth: number): void {
    const { id } = stream
    const z = stream.isScreen ? 0 : 2 * nth
    const picture = stream.isAdded && stream.showsPicture ? words(box, z + PICTURE_Z) : ''
    const tile = picture ? '' : `${words(cameraBox(box), z + TILE_Z)}\t${stream.name}`
    const sent = this.#sent.get(id)
    // The new one is shown first, so that no frame lacks both.
    if (picture && picture !== sent?.picture) this.compositor.send('place', id, picture)
    if (tile && tile !== sent?.tile) this.compositor.send('tile', id, tile)
    if (!picture && sent?.picture) this.compositor.send('hide', id)
    if (!tile && sent?.tile) this.compositor.send('untile', id)
    this.#sent.set(id, { picture, tile })
    if (picture) stream.fit?.(box)
  }

  #leave(id: string): void {
    if (this.#sent.get(id)?.tile) this.compositor.send('untile', id)
    this.#sent.delete(id)
  }
}

const words = ({ x, y, width, height }: Box, z: number): string => [x, y, width, height, z].join('\t')
