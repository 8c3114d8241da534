import { z } from 'zod'

const LONGEST = 60
/** What of the client's and what of the server's data is told apart by, where both are given as one text. */
const SEPARATOR = '%/%'
const MEMBERS = ['clientData', 'name', 'userName', 'username', 'nickname', 'nickName', 'displayName', 'user'] as const
const Named = z.record(z.string(), z.unknown())
/** Control characters, and those that turn the direction of writing around. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** The name that a client gave in its data, in the usual ways of doing so; otherwise its number. */
export function displayName(clientData: string, nth: number): string {
  const [own = ''] = clientData.split(SEPARATOR)
  return shorten(nameIn(own)) || `Participant ${nth}`
}

function nameIn(text: string): string {
  const named = Named.safeParse(parse(text))
  if (!named.success) return /^\s*[[{]/.test(text) ? '' : text
  for (const member of MEMBERS) {
    const value = named.data[member]
    if (typeof value === 'string' && value.trim()) return value
  }
  return ''
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function shorten(name: string): string {
  const text = name.replace(UNSHOWABLE, ' ').trim()
  const characters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST - 1).join('')}…` : characters.join('')
}
