const MOODS = [
  'amber',
  'bright',
  'calm',
  'clear',
  'early',
  'fair',
  'gentle',
  'golden',
  'green',
  'happy',
  'kind',
  'light',
  'merry',
  'mild',
  'open',
  'quiet',
  'silver',
  'steady',
  'sunny',
  'warm',
] as const
const PLACES = [
  'bay',
  'bridge',
  'brook',
  'cove',
  'field',
  'forest',
  'garden',
  'grove',
  'harbour',
  'hill',
  'island',
  'lake',
  'meadow',
  'orchard',
  'park',
  'river',
  'shore',
  'square',
  'terrace',
  'valley',
] as const

const pick = <T>(list: readonly T[], chance: number): T | undefined => list[Math.floor(chance * list.length)]

/** A random session name that is easy to spell, such as `quiet-harbour-482`. */
export const friendlySessionName = (random: () => number = Math.random): string =>
  `${pick(MOODS, random())}-${pick(PLACES, random())}-${100 + Math.floor(random() * 900)}`

export const SESSION_NAME = /^[0-9a-zA-Z_-]{1,128}$/

/** Converts the input of a user to a valid session name; empty when it has no valid characters. */
export const sessionNameOf = (typed: string): string =>
  typed
    .trim()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^0-9a-zA-Z_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 128)

const letters = new Intl.Segmenter()
const firstLetter = (word: string): string => [...letters.segment(word)][0]?.segment ?? ''

/** Up to two letters for a participant without video. */
export function initials(name: string): string {
  const words = name.split(/[\s_-]+/).filter((word) => word !== '')
  const shown = words.length > 1 ? [words[0], words.at(-1)] : words.slice(0, 1)
  return shown.map((word) => firstLetter(word ?? '').toLocaleUpperCase()).join('') || '?'
}

/** A colour hue, 0 to 359, which is the same for equal names. */
export function hueOf(name: string): number {
  let sum = 7
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 100_003
  // The golden angle maps close sums to distant colours.
  return Math.round(sum * 137.508) % 360
}

/** The nickname in the server data of a connection; empty for data of another application. */
export function nicknameOf(serverData: string): string {
  try {
    const data: unknown = JSON.parse(serverData)
    const nickname = typeof data === 'object' && data !== null && 'nickname' in data ? data.nickname : ''
    return typeof nickname === 'string' ? nickname : ''
  } catch {
    return ''
  }
}
