import { Transform } from 'node:stream'
import { LEGACY_NODE_URIS, LEGACY_OPTIONS, type LegacyNames } from '../wire/names.js'

type Prefixes = Pick<LegacyNames, 'configPrefix'>

const NATIVE_OPTIONS = 'mediaserverOptions'
const NATIVE_NODE_URIS = 'MEDIASERVER_URIS'
const NATIVE_PREFIX = 'SERVICE_'
/**
 * The name of a member before its colon. JSON text escapes quotation marks inside values, so that none of them matches.
 */
const NAMES = new RegExp(`"(?:${NATIVE_OPTIONS}|${NATIVE_NODE_URIS}|${NATIVE_PREFIX}[A-Z0-9_]+)":`, 'g')
/** The end of a text that may be the start of a name. */
const UNFINISHED = /"[A-Za-z0-9_]{0,128}"?$/

/** The body of a request with our names of members; the names of version 2 take precedence. */
export function nativeMembers(body: unknown, { configPrefix }: Prefixes): unknown {
  if (typeof body !== 'object' || body === null) return body
  const members = Object.entries(body)
  const renamed = members.flatMap(([name, value]): [string, unknown][] => {
    const native = nativeName(name, configPrefix)
    return native === name ? [] : [[native, value]]
  })
  if (renamed.length === 0) return body
  const kept = members.filter(([name]) => nativeName(name, configPrefix) === name)
  return Object.fromEntries([...kept, ...renamed])
}

function nativeName(name: string, configPrefix: string): string {
  if (name === LEGACY_OPTIONS) return NATIVE_OPTIONS
  if (name === LEGACY_NODE_URIS) return NATIVE_NODE_URIS
  return name.startsWith(configPrefix) ? NATIVE_PREFIX + name.slice(configPrefix.length) : name
}

/** JSON text with the names of version 2. */
export const renamedMembers = (json: string, { configPrefix }: Prefixes): string =>
  json.replace(NAMES, (quoted) => {
    const name = quoted.slice(1, -2)
    if (name === NATIVE_OPTIONS) return `"${LEGACY_OPTIONS}":`
    if (name === NATIVE_NODE_URIS) return `"${LEGACY_NODE_URIS}":`
    return `"${configPrefix}${name.slice(NATIVE_PREFIX.length)}":`
  })

/** Renames the members in JSON text that arrives in pieces, which may end within a name. */
export function renamedStream(names: Prefixes): Transform {
  let rest = ''
  const decoder = new TextDecoder()
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = renamedMembers(rest + decoder.decode(chunk, { stream: true }), names)
      const end = text.length - (UNFINISHED.exec(text)?.[0].length ?? 0)
      rest = text.slice(end)
      done(null, text.slice(0, end))
    },
    flush(done) {
      done(null, rest + decoder.decode())
    },
  })
}
