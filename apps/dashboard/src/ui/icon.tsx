import type { VNode } from 'preact'

/** The paths of the icons in a view box of 24 × 24. */
const ICONS = {
  overview: ['M4 4h7v9H4z', 'M13 4h7v5h-7z', 'M13 11h7v9h-7z', 'M4 15h7v5H4z'],
  sessions: [
    'M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Z',
    'M2.5 19.5a6.5 6.5 0 0 1 13 0',
    'M16 5a3.5 3.5 0 0 1 0 6.5',
    'M18 14.3a6.5 6.5 0 0 1 3.5 5.2',
  ],
  nodes: ['M4 5h16v6H4z', 'M4 13h16v6H4z', 'M7.5 8h.01', 'M7.5 16h.01', 'M11 8h6', 'M11 16h6'],
  recordings: [
    'M4.5 5h15A1.5 1.5 0 0 1 21 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 17.5v-11A1.5 1.5 0 0 1 4.5 5Z',
    'M10 9l5 3-5 3V9Z',
  ],
  events: ['M3 12h4l2.5-6 5 13 2.5-7h4'],
  letters: ['M4 6h16v12.5H4z', 'M4 7l8 6.5L20 7'],
  history: ['M4 12a8 8 0 1 0 2.6-5.9L4 8.5', 'M4 4v4.5h4.5', 'M12 8v4.5l3 2'],
  configuration: [
    'M4 7h9',
    'M17 7h3',
    'M4 17h3',
    'M11 17h9',
    'M15 4.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4Z',
    'M9 14.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4Z',
  ],
  search: ['M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z', 'M15.5 15.5L20 20'],
  menu: ['M4 7h16', 'M4 12h16', 'M4 17h16'],
  account: ['M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z', 'M4.5 20a7.5 7.5 0 0 1 15 0'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  check: ['M5 12.5l4.5 4.5L19 7.5'],
  warning: ['M12 4L2.8 19.5h18.4L12 4Z', 'M12 10v4.5', 'M12 17.2h.01'],
  play: ['M8 5.5l10.5 6.5L8 18.5V5.5Z'],
  download: ['M12 4v11', 'M7.5 11l4.5 4.5 4.5-4.5', 'M5 19.5h14'],
  stop: ['M8.5 7h7A1.5 1.5 0 0 1 17 8.5v7a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 7 15.5v-7A1.5 1.5 0 0 1 8.5 7Z'],
  trash: ['M4.5 7h15', 'M9.5 7V4.5h5V7', 'M6.5 7l1 12.5h9l1-12.5', 'M10.5 11v5', 'M13.5 11v5'],
  copy: [
    'M9 8.5h9a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5H9A1.5 1.5 0 0 1 7.5 19v-9A1.5 1.5 0 0 1 9 8.5Z',
    'M16.5 5v-.5A1.5 1.5 0 0 0 15 3H6a1.5 1.5 0 0 0-1.5 1.5V15A1.5 1.5 0 0 0 5 16.2',
  ],
  mic: ['M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3Z', 'M5.5 11a6.5 6.5 0 0 0 13 0', 'M12 17.5V21'],
  micOff: [
    'M9 9v2a3 3 0 0 0 4.7 2.5',
    'M15 11V6a3 3 0 0 0-5.8-1',
    'M5.5 11a6.5 6.5 0 0 0 10.3 5.3',
    'M12 17.5V21',
    'M4 4l16 16',
  ],
  camera: ['M4.5 6.5h8a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-8a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Z', 'M14.5 10.5l6-3.5v10l-6-3.5'],
  cameraOff: [
    'M10 6.5h2.5a2 2 0 0 1 2 2v2l6-3.5v10',
    'M14.5 14.5v1a2 2 0 0 1-2 2h-8a2 2 0 0 1-2-2v-7a2 2 0 0 1 1.5-1.9',
    'M4 4l16 16',
  ],
  external: ['M14 4.5h5.5V10', 'M19.5 4.5L11 13', 'M17.5 14v4.5a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-11a1 1 0 0 1 1-1H10'],
  leave: ['M14.5 4H18a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-3.5', 'M10 16l-4-4 4-4', 'M6 12h9.5'],
  record: ['M12 5.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z'],
  replay: ['M19 12a7 7 0 1 1-2.3-5.2L19 9', 'M19 4.5V9h-4.5'],
  arrow: ['M5 12h13', 'M13 7l5 5-5 5'],
  pause: ['M9 6v12', 'M15 6v12'],
} as const satisfies Record<string, readonly string[]>
export type IconName = keyof typeof ICONS

/** A decorative icon; text beside it, or the label of its button, describes it. */
export const Icon = ({ name }: { name: IconName }): VNode => (
  <svg viewBox="0 0 24 24" aria-hidden="true" class={`icon icon-${name}`}>
    {ICONS[name].map((path) => (
      <path key={path} d={path} />
    ))}
  </svg>
)
