import { ServiceError } from '@session-service/contract'

/** The parts of a camera's URI that others than the administrator may see. */
interface CameraAddress {
  /** Null for a file. */
  host: string | null
  /** The URI without user name, password and secret parameters. */
  publicUri: string
}

/** The user name and password in front of the host; a password may contain an `@`. */
const USER_INFO = /^([a-z]+:\/\/)[^/?#]*@/i
/** Many cameras take the password as a parameter, in the path as well: `/user=admin&password=secret`. */
const SECRET_NAME = /pass|pwd|token|secret|auth|key/i
/** The parts of a URI that may each contain a value. */
const PART = /[^&;#/]+/g
const HIDDEN = '***'

/** @throws ServiceError INVALID when it is not a URI */
export function cameraAddress(uri: string): CameraAddress {
  const url = URL.parse(uri)
  if (!url) throw new ServiceError('INVALID', 'rtspUri: must be a valid URI')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host: host === '' ? null : host, publicUri: withoutSecrets(uri) }
}

const withoutSecrets = (uri: string): string =>
  uri.replace(USER_INFO, '$1').replace(PART, (part) => {
    const secret = secretOf(part)
    return secret === '' ? part : part.slice(0, -secret.length) + HIDDEN
  })

/** The end of a part behind the first secret name; empty without one. */
function secretOf(part: string): string {
  let from = 0
  for (let end = part.indexOf('='); end !== -1; end = part.indexOf('=', from)) {
    const name = part.slice(from, end)
    from = end + 1
    if (SECRET_NAME.test(name.slice(name.lastIndexOf('?') + 1))) return part.slice(from)
  }
  return ''
}

/** Removes the secrets of a camera's URI from a text about it, such as the error of a program that reads it. */
export function withoutSecretsOf(uri: string, text: string): string {
  let hidden = text.replaceAll(uri, withoutSecrets(uri))
  for (const secret of secretsOf(uri)) hidden = hidden.replaceAll(secret, HIDDEN)
  return hidden
}

/** As they are in the URI, and decoded; the longest first. */
function secretsOf(uri: string): string[] {
  const password = URL.parse(uri)?.password ?? ''
  const parameters = (uri.match(PART) ?? []).map(secretOf)
  const secrets = [password, ...parameters].flatMap((secret) => [secret, decoded(secret)])
  return [...new Set(secrets)].filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
