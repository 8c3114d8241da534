import { h } from '../ui/dom.js'
import { focusTiles, gridTiles } from './layout.js'
import type { Tile } from './tile.js'

const GAP = 12
const NARROW_GAP = 8

/** Arranges the tiles in the available space after each change of the tiles or the space. */
export class Grid {
  readonly element = h('div', { class: 'grid', role: 'list', 'aria-label': 'Participants' })
  readonly #tiles: Tile[] = []
  readonly #observer = new ResizeObserver(() => this.#place())

  constructor() {
    this.#observer.observe(this.element)
  }

  get tiles(): readonly Tile[] {
    return this.#tiles
  }

  add(tile: Tile): void {
    // A shared screen comes first.
    if (tile.isScreen) this.#tiles.unshift(tile)
    else this.#tiles.push(tile)
    this.element.append(tile.element)
    this.#place()
  }

  remove(tile: Tile): void {
    const index = this.#tiles.indexOf(tile)
    if (index < 0) return
    this.#tiles.splice(index, 1)
    tile.remove()
    this.#place()
  }

  close(): void {
    this.#observer.disconnect()
    for (const tile of this.#tiles.splice(0)) tile.remove()
  }

  #place(): void {
    const space = { width: this.element.clientWidth, height: this.element.clientHeight }
    const gap = space.width < 600 ? NARROW_GAP : GAP
    const layout = this.#tiles[0]?.isScreen ? focusTiles : gridTiles
    layout(this.#tiles.length, space, gap).forEach(({ x, y, width, height }, index) => {
      const element = this.#tiles[index]?.element
      if (!element) return
      element.style.transform = `translate(${x}px, ${y}px)`
      element.style.width = `${width}px`
      element.style.height = `${height}px`
      element.classList.toggle('tiny', width < 180 || height < 120)
    })
  }
}
