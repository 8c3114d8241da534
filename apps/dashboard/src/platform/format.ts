const LOCALE = 'en'
const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 })
const TENTHS = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 })

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `12,345`. */
export const formatNumber = (value: number): string => WHOLE.format(value)

/** `1 session`, `2 sessions`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

/** `1.2 GB`, in powers of 1,000. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  // 999.95 and more would be formatted as 1,000.
  while (value >= 999.95 && unit < UNITS.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${unit === 0 ? WHOLE.format(value) : TENTHS.format(value)} ${UNITS[unit]}`
}

/** `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const [days, hours, minutes] = [Math.floor(whole / 86_400), Math.floor(whole / 3_600), Math.floor(whole / 60)]
  const pair = (high: string, low: number, unit: string): string => (low > 0 ? `${high} ${low} ${unit}` : high)
  if (days > 0) return pair(`${days} d`, hours % 24, 'h')
  if (hours > 0) return pair(`${hours} h`, minutes % 60, 'min')
  if (minutes > 0) return pair(`${minutes} min`, whole % 60, 's')
  return `${whole} s`
}

/** `just now`, `5 min ago`, `in 3 h`: one unit, rounded down. */
export function formatAge(time: number, now: number): string {
  const distance = Math.abs(now - time)
  if (distance < 5 * SECOND) return 'just now'
  const [size, unit] =
    distance >= DAY ? [DAY, 'd'] : distance >= HOUR ? [HOUR, 'h'] : distance >= MINUTE ? [MINUTE, 'min'] : [SECOND, 's']
  const amount = `${formatNumber(Math.floor(distance / size))} ${unit}`
  return time > now ? `in ${amount}` : `${amount} ago`
}

const EXACT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'long' })

/** Date and time to the second, in the time zone of the browser, which it names. */
export const formatTime = (time: number): string => EXACT.format(time)

const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 0 })

/** `42%` of 0 to 100. */
export const formatPercent = (value: number): string => PERCENT.format(value / 100)

/** Indented JSON; other text unchanged. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** `waiting idle to terminate` of `waiting-idle-to-terminate`, `best fit` of `BEST_FIT`. */
export const words = (name: string): string => name.replaceAll(/[-_]/g, ' ').toLowerCase()

/** `Words` with a capital at the start. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** `network disconnect` of `networkDisconnect`. */
export const spaced = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

/** `1280 × 720` of JSON text with `width` and `height`; undefined for other text. */
export function formatDimensions(json: string | null | undefined): string | undefined {
  const match = /"width":\s*(\d+).*"height":\s*(\d+)/.exec(json ?? '')
  return match ? `${match[1]} × ${match[2]}` : undefined
}
