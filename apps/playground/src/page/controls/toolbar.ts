/** The focus movements of the toolbar pattern of WAI-ARIA. */
const MOVES = new Map<string, (index: number, count: number) => number>([
  ['ArrowRight', (index, count) => (index + 1) % count],
  ['ArrowDown', (index, count) => (index + 1) % count],
  ['ArrowLeft', (index, count) => (index - 1 + count) % count],
  ['ArrowUp', (index, count) => (index - 1 + count) % count],
  ['Home', () => 0],
  ['End', (_, count) => count - 1],
])

/** Returns the index of the item that gets the focus; undefined for other keys. */
export const rovingIndex = (key: string, index: number, count: number): number | undefined =>
  count === 0 ? undefined : MOVES.get(key)?.(Math.max(index, 0), count)

/** Returns the item that the Tab key reaches: the current one, or the first if the current one is hidden. */
export const tabStop = <T>(items: readonly T[], current: T | undefined): T | undefined =>
  current !== undefined && items.includes(current) ? current : items[0]

/** Makes the buttons of an element a single tab stop; arrow keys, Home and End move the focus between them. */
export class Toolbar {
  #current: HTMLElement | undefined
  readonly #element: HTMLElement
  readonly #buttons: readonly HTMLElement[]

  constructor(element: HTMLElement, buttons: readonly HTMLElement[]) {
    this.#element = element
    this.#buttons = buttons

    element.setAttribute('role', 'toolbar')
    element.addEventListener('keydown', (event) => this.#move(event))
    element.addEventListener('focusin', ({ target }) => {
      this.#current = this.#buttons.find((button) => button === target) ?? this.#current
      this.refresh()
    })
    this.refresh()
  }

  /** Call it after a button was shown or hidden. */
  refresh(): void {
    const stop = tabStop(this.#shown, this.#current)
    for (const button of this.#buttons) button.tabIndex = button === stop ? 0 : -1
  }

  get #shown(): HTMLElement[] {
    return this.#buttons.filter(({ hidden }) => !hidden)
  }

  #move(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const shown = this.#shown
    const index = rovingIndex(event.key, shown.indexOf(this.#current ?? this.#element), shown.length)
    if (index === undefined) return
    event.preventDefault()
    shown[index]?.focus()
  }
}
