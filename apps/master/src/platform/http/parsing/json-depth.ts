const QUOTE = 34
const BACKSLASH = 92
const OPENING = new Set([91, 123])
const CLOSING = new Set([93, 125])

/** The most levels of arrays and objects in what clients send. */
export const MAX_NESTING = 32

/** Whether arrays and objects are nested deeper than `limit`. Brackets in strings do not count. */
export function isDeeper(json: Uint8Array, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] ?? 0
    if (inString) {
      if (byte === BACKSLASH) index++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (OPENING.has(byte)) {
      if (++depth > limit) return true
    } else if (CLOSING.has(byte)) depth--
  }
  return false
}
