/** The reasons why sessions end, as the filter of the history offers them. */
export const REASONS = [
  'lastParticipantLeft',
  'automaticStop',
  'sessionClosedByServer',
  'nodeCrashed',
  'mediaServerDisconnect',
  'networkDisconnect',
  'serviceServerStopped',
] as const

const NAMES = ['session', 'mediaNode', 'reason', 'from', 'to'] as const

/** The query of the REST API for that of the address, which may have other members. */
export function historyQuery(query: Readonly<Record<string, string>>): string {
  const given = NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : []))
  return new URLSearchParams(given).toString()
}

const two = (value: number): string => String(value).padStart(2, '0')

/** The day of a time in UTC ms, shifted by days, as fields of dates have it; empty without a time. */
export function dayOf(time: string | undefined, shift = 0): string {
  if (time === undefined || !/^\d{1,15}$/.test(time)) return ''
  const date = new Date(Number(time))
  date.setDate(date.getDate() + shift)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The begin of a day in the time zone of the browser, shifted by days, in UTC ms; empty without a day, or before 1970. */
export function startOfDay(day: string, shift: number): string {
  const [year, month, date] = day.split('-').map(Number)
  if (year === undefined || month === undefined || date === undefined) return ''
  const time = new Date(year, month - 1, date + shift).getTime()
  // A year that is being typed begins with zeros.
  return time < 0 ? '' : String(time)
}
