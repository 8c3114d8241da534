type Child = Node | string | undefined | false
type Value = string | number | boolean | undefined | ((event: never) => unknown)

/** Creates an element. Functions such as `onclick` become listeners; `false` and `undefined` are omitted. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Value>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as (event: Event) => unknown)
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.filter((child) => child !== undefined && child !== false))
  return element
}

const SVG = 'http://www.w3.org/2000/svg'

/** The paths of the icons in a view box of 24 × 24. */
const ICONS = {
  mic: ['M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3Z', 'M5.5 11a6.5 6.5 0 0 0 13 0', 'M12 17.5V21'],
  micOff: [
    'M9 9v2a3 3 0 0 0 4.7 2.5',
    'M15 11V6a3 3 0 0 0-5.8-1',
    'M5.5 11a6.5 6.5 0 0 0 10.3 5.3',
    'M18.5 11a6.4 6.4 0 0 1-.5 2.5',
    'M12 17.5V21',
    'M4 4l16 16',
  ],
  camera: ['M4.5 6.5h8a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-8a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Z', 'M14.5 10.5l6-3.5v10l-6-3.5'],
  cameraOff: [
    'M10 6.5h2.5a2 2 0 0 1 2 2v2l6-3.5v10',
    'M14.5 14.5v1a2 2 0 0 1-2 2h-8a2 2 0 0 1-2-2v-7a2 2 0 0 1 1.5-1.9',
    'M4 4l16 16',
  ],
  screen: [
    'M4 4.5h16a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 15V6A1.5 1.5 0 0 1 4 4.5Z',
    'M8.5 20h7',
    'M12 13.5v-6',
    'M9.3 10l2.7-2.7 2.7 2.7',
  ],
  screenOff: [
    'M4 4.5h16a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 15V6A1.5 1.5 0 0 1 4 4.5Z',
    'M8.5 20h7',
    'M9.7 8.200l4.6 4.6',
    'M14.3 8.200l-4.6 4.6',
  ],
  captions: [
    'M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2Z',
    'M11 10.4a2.1 2.1 0 1 0 0 3.2',
    'M17 10.4a2.1 2.1 0 1 0 0 3.2',
  ],
  transcript: [
    'M6.5 3.5h8l4 4v12a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-15a1 1 0 0 1 1-1Z',
    'M14.5 3.5v4h4',
    'M9 12h6',
    'M9 16h6',
  ],
  copy: [
    'M9 8.5h9a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5H9A1.5 1.5 0 0 1 7.5 19v-9A1.5 1.5 0 0 1 9 8.5Z',
    'M16.5 5V4.5A1.5 1.5 0 0 0 15 3H6a1.5 1.5 0 0 0-1.5 1.5V15A1.5 1.5 0 0 0 5 16.2',
  ],
  download: ['M12 4v11', 'M7.5 11l4.5 4.500 4.5-4.500', 'M5 19.500h14'],
  chat: ['M5 4.5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7.5L7 20.5v-4H5a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2Z'],
  leave: ['M14.5 4H18a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-3.5', 'M10 16l-4-4 4-4', 'M6 12h9.5'],
  link: ['M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.300l-1 1', 'M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.700l1-1'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  settings: [
    'M4 7h9',
    'M17 7h3',
    'M4 17h3',
    'M11 17h9',
    'M15 4.800a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.400Z',
    'M9 14.800a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.400Z',
  ],
  send: ['M4 12l16-7.5-5.5 15.5-3-6.5L4 12Z', 'M11.5 13.5L20 4.5'],
  people: [
    'M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Z',
    'M2.5 19.5a6.5 6.5 0 0 1 13 0',
    'M16 5a3.5 3.5 0 0 1 0 6.5',
    'M18 14.300a6.5 6.5 0 0 1 3.5 5.2',
  ],
  sound: ['M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4Z', 'M15.5 9a4.2 4.2 0 0 1 0 6', 'M18 6.5a7.8 7.8 0 0 1 0 11'],
  record: ['M12 5.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z'],
  recordStop: [
    'M8.5 7h7A1.5 1.5 0 0 1 17 8.500v7a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 7 15.500v-7A1.5 1.5 0 0 1 8.500 7Z',
  ],
  film: [
    'M4.500 5h15A1.5 1.5 0 0 1 21 6.500v11a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 17.500v-11A1.5 1.5 0 0 1 4.500 5Z',
    'M10 9l5 3-5 3V9Z',
  ],
  tiles: [
    'M4 4.5h9a1.5 1.5 0 0 1 1.5 1.5v6.5A1.5 1.5 0 0 1 13 14H4a1.5 1.5 0 0 1-1.5-1.5V6A1.5 1.5 0 0 1 4 4.5Z',
    'M17.5 9.5H20a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 9.5 18v-.5',
  ],
} as const satisfies Record<string, readonly string[]>
type IconName = keyof typeof ICONS

/** Creates a decorative icon; the label of its button describes it. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg')
  for (const [key, value] of [
    ['viewBox', '0 0 24 24'],
    ['aria-hidden', 'true'],
    ['class', `icon icon-${name}`],
  ] as const)
    svg.setAttribute(key, value)
  for (const outline of ICONS[name]) {
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('d', outline)
    svg.append(path)
  }
  return svg
}

/** Creates a round button with an icon; `label` is its accessible name and tooltip. */
export function iconButton(name: IconName, label: string, onclick: () => unknown, kind = ''): HTMLButtonElement {
  return h(
    'button',
    { type: 'button', class: `round ${kind}`.trim(), 'aria-label': label, title: label, onclick },
    icon(name),
  )
}

/** Replaces the icon and the label of a button. */
export function relabel(button: HTMLButtonElement, name: IconName, label: string): void {
  button.querySelector('svg')?.replaceWith(icon(name))
  button.setAttribute('aria-label', label)
  button.title = label
}

/** Marks a button that opens a dialog; the code that opens the dialog updates `aria-expanded`. */
export function markOpensDialog(button: HTMLButtonElement): void {
  button.setAttribute('aria-haspopup', 'dialog')
  button.setAttribute('aria-expanded', 'false')
}
