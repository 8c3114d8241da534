/** The parts of the address of a camera. */
export interface CameraUri {
  scheme: 'rtsp' | 'rtsps' | 'http' | 'https' | 'file'
  /** Without brackets; empty for files. */
  host: string
  /** Decoded; empty without. */
  user: string
  password: string
  /** The address without user and password, for the program that reads it. Its query may have credentials. */
  uri: string
  /** The only form that logs, errors and ids may contain. */
  publicUri: string
}

const SCHEMES = ['rtsp', 'rtsps', 'http', 'https', 'file'] as const
/** Some cameras take them in the path. */
const SECRET_IN_PATH = /((?:pass\w*|pwd|token|secret|key)=)[^&;/]*/gi

/** GStreamer rejects the whole address. */
const WRONG_ESCAPE = /%(?![0-9a-f]{2})/i
const NUL = /%00/

/** @throws Error that names the part and never contains the password */
export function parseCameraUri(text: string): CameraUri {
  if (!URL.canParse(text)) throw new Error('is not a URI')
  const url = new URL(text)
  const scheme = SCHEMES.find((each) => url.protocol === `${each}:`)
  if (!scheme) throw new Error(`must be one of ${SCHEMES.join(', ')}`)
  const { user, password } = credentialsOf(url)
  url.username = ''
  url.password = ''
  url.hash = ''
  if (scheme !== 'file' && url.hostname === '') throw new Error('has no host')
  if (scheme === 'file' && url.hostname !== '') throw new Error('must not have a host')
  const location = url.pathname + url.search
  if (WRONG_ESCAPE.test(location) || (scheme.startsWith('rtsp') && !isText(location)))
    throw new Error('has a path or query that is not percent-encoded correctly')
  const uri = url.href
  url.search = ''
  const publicUri = url.href.replace(SECRET_IN_PATH, '$1…')
  return { scheme, host: url.hostname.replace(/^\[|\]$/g, ''), user, password, uri, publicUri }
}

/** GStreamer decodes the addresses of RTSP, and finds no camera at one that is no text. */
function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return !NUL.test(encoded)
  } catch {
    return false
  }
}

function credentialsOf({ username, password }: URL): { user: string; password: string } {
  let credentials
  try {
    credentials = { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    throw new Error('has credentials that are not percent-encoded correctly')
  }
  if (/\p{Cc}/u.test(credentials.user + credentials.password))
    throw new Error('has credentials with control characters')
  return credentials
}
