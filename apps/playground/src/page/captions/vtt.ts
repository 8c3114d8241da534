/** A recognized sentence. Times in UTC ms. */
export interface Sentence {
  readonly name: string
  readonly text: string
  readonly start: number
  readonly end: number
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0')

/** `01:02:03.004` */
function vttTime(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  const [hours, minutes, seconds] = [
    Math.floor(whole / 3_600_000),
    Math.floor(whole / 60_000),
    Math.floor(whole / 1_000),
  ]
  return `${pad(hours)}:${pad(minutes % 60)}:${pad(seconds % 60)}.${pad(whole % 1_000, 3)}`
}

/** Other participants choose their names, so neither names nor texts may contain markup or line breaks. */
const escaped = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** The sentences, in the order of their begins, as WebVTT whose time 0 is the begin of the first one. */
export function toVtt(title: string, sentences: readonly Sentence[]): string {
  const [first] = sentences
  const zero = first?.start ?? 0
  const note = first ? [`NOTE Time 0 is ${new Date(zero).toISOString()}`] : []
  const cues = sentences.map(({ name, text, start, end }, index) =>
    [
      String(index + 1),
      `${vttTime(start - zero)} --> ${vttTime(Math.max(end, start + 1) - zero)}`,
      `<v ${escaped(name)}>${escaped(text)}`,
    ].join('\n'),
  )
  return `${[`WEBVTT ${escaped(title)}`.trim(), ...note, ...cues].join('\n\n')}\n`
}
