import type { NativeLayout } from '@session-service/contract'
import type { Compositor } from './compositor.js'
import { arrange, cameraBox, type Box, type Size } from './layout.js'
import type { Member } from './composed-stream.js'

const TILE_Z = 1
const PICTURE_Z = 2

/** Tells the compositor where each is seen, and only what has changed. */
export class Stage {
  /** What was told last, by stream: its picture's place and its name's. */
  readonly #told = new Map<string, { picture: string; tile: string }>()

  constructor(
    private readonly layout: NativeLayout,
    private readonly size: Size,
    private readonly compositor: Compositor,
  ) {}

  arrange(members: readonly Member[]): void {
    const boxes = arrange(this.layout, members, this.size)
    for (const id of this.#told.keys()) if (!boxes.has(id)) this.#leave(id)
    members.forEach((member, nth) => {
      const box = boxes.get(member.id)
      if (box) this.#show(member, box, nth)
    })
  }

  /** Of two that overlap the later is in front: an inset stands over the big picture. */
  #show(member: Member, box: Box, nth: number): void {
    const { id } = member
    const z = member.isScreen ? 0 : 2 * nth
    const picture = member.isAdded && member.showsPicture ? words(box, z + PICTURE_Z) : ''
    const tile = picture ? '' : `${words(cameraBox(box), z + TILE_Z)}\t${member.name}`
    const told = this.#told.get(id)
    // The one that appears comes first: no moment without either.
    if (picture && picture !== told?.picture) this.compositor.tell('place', id, picture)
    if (tile && tile !== told?.tile) this.compositor.tell('tile', id, tile)
    if (!picture && told?.picture) this.compositor.tell('hide', id)
    if (!tile && told?.tile) this.compositor.tell('untile', id)
    this.#told.set(id, { picture, tile })
    if (picture) member.fit(box)
  }

  #leave(id: string): void {
    if (this.#told.get(id)?.tile) this.compositor.tell('untile', id)
    this.#told.delete(id)
  }
}

const words = ({ x, y, width, height }: Box, z: number): string => [x, y, width, height, z].join('\t')
