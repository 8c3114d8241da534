/** A part of a message: plain text, or a link to `href`. */
interface TextPart {
  readonly text: string
  readonly href?: string
}

/** Ends at white space, quotes, angle brackets, and invisible characters, which could disguise the target. */
const ADDRESS = /\bhttps?:\/\/[^\s<>"\p{Cc}\p{Cf}]+/giu
/** Characters at the end of a URL that belong to the sentence. */
const SENTENCE_END = new Set(".,:;!?'’”…")
const OPENING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/** Removes trailing punctuation; keeps a closing bracket that the URL itself opens. */
function trimmed(address: string): string {
  const counts = new Map<string, number>()
  for (const character of address) counts.set(character, (counts.get(character) ?? 0) + 1)
  const isUnopened = (closing: string): boolean => {
    const opening = OPENING[closing]
    return opening !== undefined && (counts.get(closing) ?? 0) > (counts.get(opening) ?? 0)
  }
  let end = address.length
  for (; end > 0; end--) {
    const last = address.charAt(end - 1)
    if (!SENTENCE_END.has(last) && !isUnopened(last)) break
    counts.set(last, (counts.get(last) ?? 0) - 1)
  }
  return address.slice(0, end)
}

/** Returns the normalized URL, or undefined unless it is http(s) without a user name, which would disguise the host. */
function hrefOf(address: string): string | undefined {
  try {
    const { protocol, username, password, href } = new URL(address)
    return ['http:', 'https:'].includes(protocol) && username === '' && password === '' ? href : undefined
  } catch {
    return undefined
  }
}

/** Splits a message into plain text and links. The concatenated texts of the parts equal the message. */
export function splitLinks(text: string): TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = trimmed(found)
    const href = hrefOf(address)
    if (href === undefined) continue
    if (index > end) parts.push({ text: text.slice(end, index) })
    parts.push({ text: address, href })
    end = index + address.length
  }
  if (end < text.length) parts.push({ text: text.slice(end) })
  return parts
}
