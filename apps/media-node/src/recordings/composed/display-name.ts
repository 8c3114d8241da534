import { parseJson } from '@session-service/config'
import { z } from 'zod'
import type { Peer } from '../../rooms/peer.js'

const MAX_LENGTH = 60
/** Separates client data from server data in a combined text. */
const SEPARATOR = '%/%'
const MEMBERS = ['clientData', 'name', 'userName', 'username', 'nickname', 'nickName', 'displayName', 'user'] as const
const Named = z.record(z.string(), z.unknown())
/** Control characters and characters that change the text direction. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** Names participants as `displayName` does, numbered in the order of their arrival. */
export class DisplayNames {
  readonly #numbers = new Map<string, number>()

  of({ connectionId, metadata }: Pick<Peer, 'connectionId' | 'metadata'>): string {
    const number = this.#numbers.get(connectionId) ?? this.#numbers.size + 1
    this.#numbers.set(connectionId, number)
    return displayName(metadata.clientData, number)
  }
}

/** The name in the client data, in one of the usual formats; otherwise the participant's number. */
export function displayName(clientData: string, nth: number): string {
  const [own = ''] = clientData.split(SEPARATOR)
  return shorten(nameIn(own)) || `Participant ${nth}`
}

function nameIn(text: string): string {
  const named = Named.safeParse(parseJson(text))
  if (!named.success) return /^\s*[[{]/.test(text) ? '' : text
  for (const member of MEMBERS) {
    const value = named.data[member]
    if (typeof value === 'string' && value.trim()) return value
  }
  return ''
}

function shorten(name: string): string {
  const text = name.replace(UNSHOWABLE, ' ').trim()
  const characters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
  return characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH - 1).join('')}…` : characters.join('')
}
