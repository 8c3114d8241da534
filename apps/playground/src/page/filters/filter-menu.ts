import { ServiceError, type Stream } from '@session-service/client'
import { h } from '../ui/dom.js'
import { filterInWords, type FilterPreset, presetsFor } from './filter-presets.js'

const NONE = ''

interface FilterMenuOptions {
  readonly stream: Stream
  /** The types of filters that the own role permits now. */
  readonly allowed: () => readonly string[]
  readonly failed: (error: unknown) => void
}

/** The menu with the filters of an own tile. */
export class FilterMenu {
  readonly #select = h('select', { 'aria-label': 'Filter', onchange: () => void this.#choose() })
  readonly element = h('div', { class: 'tile-filter', hidden: true }, this.#select)
  readonly #options: FilterMenuOptions
  #presets: readonly FilterPreset[] = []
  #isBusy = false
  #isOffered = true

  constructor(options: FilterMenuOptions) {
    this.#options = options
    this.update()
  }

  /** Shows the filter in force, and the permitted ones. */
  update(): void {
    if (this.#isBusy) return
    const { stream, allowed } = this.#options
    this.#presets = presetsFor(stream, allowed(), badge())
    this.element.hidden = !this.#isOffered || this.#presets.length === 0
    const current = stream.filter?.type ?? NONE
    const choices = this.#presets.map(({ type, label }) => [type, label] as const)
    const isListed = current === NONE || choices.some(([type]) => type === current)
    const other = isListed ? [] : [[current, filterInWords(current, this.#presets)] as const]
    const all = [[NONE, 'No filter'] as const, ...choices, ...other]
    this.#select.replaceChildren(...all.map(([value, text]) => h('option', { value }, text)))
    this.#select.value = current
  }

  /** The select keeps the focus: a disabled one would lose it. */
  async #choose(): Promise<void> {
    const { stream, failed } = this.#options
    const preset = this.#presets.find(({ type }) => type === this.#select.value)
    if (this.#isBusy) return
    this.#setBusy(true)
    try {
      if (stream.filter) await stream.removeFilter()
      if (preset) await stream.applyFilter(preset.type, preset.options)
    } catch (error) {
      this.#isOffered = !(error instanceof ServiceError && error.code === 'DISABLED')
      failed(error)
    }
    this.#setBusy(false)
    this.update()
  }

  #setBusy(isBusy: boolean): void {
    this.#isBusy = isBusy
    this.#select.setAttribute('aria-busy', String(isBusy))
  }
}

let drawn: string | undefined

/** An image with the word LIVE, as a data URL. */
function badge(): string {
  return (drawn ??= drawBadge())
}

function drawBadge(): string {
  const canvas = h('canvas', { width: 160, height: 60 })
  const context = canvas.getContext('2d')
  if (!context) return ''
  context.fillStyle = '#c43a31'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = '#ffffff'
  context.font = '600 36px system-ui, sans-serif'
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.fillText('LIVE', canvas.width / 2, canvas.height / 2)
  return canvas.toDataURL('image/png')
}
