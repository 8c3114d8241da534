import { z } from 'zod'
import type { PropertyType } from './property.js'
import { strings } from './types.js'

export interface ConfiguredIceServer {
  url: string
  username?: string | undefined
  credential?: string | undefined
  /** Instead of username and credential: each client gets its own credentials, derived from this secret. */
  staticAuthSecret?: string | undefined
}

const HOST = String.raw`(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)`
/** 1 to 65535. */
const PORT = String.raw`(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?`
/** The syntax that browsers accept: a single URL that a browser rejects keeps all clients from connecting. */
const ICE_URL = new RegExp(String.raw`^(?:stuns?:${HOST}${PORT}|turns?:${HOST}${PORT}(?:\?transport=(?:udp|tcp))?)$`)
const NO_ICE_URL =
  'url must be stun:, stuns:, turn: or turns: with a host or host:port; TURN may add ?transport=udp or ?transport=tcp'
const FIELDS = ['url', 'username', 'credential', 'staticAuthSecret'] as const
type Field = (typeof FIELDS)[number]
const FIELDS_IN_WORDS = FIELDS.map((field) => `${field}=…`).join(', ')

/** Parses `url=…,username=…,credential=…`; returns the problem of an invalid line. */
function parseLine(line: string): ConfiguredIceServer | { problem: string } {
  const fields = new Map<Field, string>()
  for (const [index, part] of line.split(',').entries()) {
    const [name, ...value] = part.split('=')
    const field = FIELDS.find((known) => known === name)
    // The text is not quoted: it may be part of a credential.
    if (!field)
      return { problem: `part ${index + 1} is not one of ${FIELDS_IN_WORDS}; values must not contain a comma` }
    if (value.join('=')) fields.set(field, value.join('='))
  }
  const { url = '', ...access } = Object.fromEntries(fields) as Partial<Record<Field, string>>
  if (!ICE_URL.test(url)) return { problem: NO_ICE_URL }
  const problem = url.startsWith('turn') ? problemOfTurn(access) : problemOfStun(access)
  return problem === undefined ? { url, ...access } : { problem }
}

type Access = Omit<ConfiguredIceServer, 'url'>

function problemOfTurn({ username, credential, staticAuthSecret }: Access): string | undefined {
  if (staticAuthSecret)
    return username || credential
      ? 'staticAuthSecret replaces username and credential: set one or the other'
      : undefined
  return username && credential ? undefined : 'TURN needs a username and a credential, or a staticAuthSecret'
}

const problemOfStun = ({ staticAuthSecret }: Access): string | undefined =>
  staticAuthSecret === undefined ? undefined : 'staticAuthSecret is for TURN only'

const showLine = (server: ConfiguredIceServer): string =>
  FIELDS.flatMap((field) => (server[field] === undefined ? [] : [`${field}=${server[field]}`])).join(',')

export const iceServers: PropertyType<ConfiguredIceServer[]> = {
  label: 'a JSON array of `url=…,username=…,credential=…` or `url=…,staticAuthSecret=…` strings, no value with a comma',
  schema: strings.schema.transform((lines, context) =>
    lines.flatMap((line, index) => {
      const server = parseLine(line)
      if (!('problem' in server)) return [server]
      context.addIssue({ code: 'custom', message: `entry ${index + 1}: ${server.problem}` })
      return []
    }),
  ) satisfies z.ZodType<ConfiguredIceServer[], string>,
  show: (servers) => JSON.stringify(servers.map(showLine)),
}
