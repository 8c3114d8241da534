export const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type Level = (typeof LEVELS)[number]

interface LogLine {
  level: Level
  text: string
  /** Text below the line: an indented stack. */
  details: string
}

const OWN_FIELDS = new Set(['level', 'time', 'name', 'context', 'msg', 'err', 'pid', 'hostname'])

/** Parses an output line of a process into level and text; the name of the process determines the format. */
export function readLogLine(name: string, line: string): LogLine {
  if (name === 'postgres') return readPostgres(line)
  if (name === 'nats') return readNats(line)
  return readJson(line) ?? { level: 'info', text: line, details: '' }
}

/** Ordinary messages of the server are debug; the sender of a failed statement reports it. */
function readPostgres(line: string): LogLine {
  const [, severity, text] = /^\S+ \S+ \S+ \[\d+\] (\w+): {2}(.*)$/.exec(line) ?? []
  const level = severity === 'PANIC' ? 'error' : severity === 'WARNING' ? 'warn' : 'debug'
  return { level, text: text ?? line, details: '' }
}

const NATS_LEVEL: Readonly<Record<string, Level>> = { WRN: 'warn', ERR: 'error', FTL: 'error' }

function readNats(line: string): LogLine {
  const [, severity = '', text] = /^\[\d+\] \S+ \S+ \[(\w{3})\] (.*)$/.exec(line) ?? []
  return { level: NATS_LEVEL[severity] ?? 'debug', text: text ?? line, details: '' }
}

function readJson(line: string): LogLine | undefined {
  const entry = parse(line)
  if (entry === undefined || !isLevel(entry.level)) return undefined
  const { level, msg, err } = entry
  const fields = Object.entries(entry).filter(([key]) => !OWN_FIELDS.has(key))
  const parts = [...(typeof msg === 'string' ? [msg] : []), ...fields.map(([key, value]) => `${key}=${show(value)}`)]
  return { level, text: parts.join(' '), details: detailsOf(err) }
}

const isLevel = (value: unknown): value is Level => LEVELS.some((level) => level === value)
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

const show = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? '')

function detailsOf(err: unknown): string {
  if (err === undefined) return ''
  const text = isRecord(err) && typeof err.stack === 'string' ? err.stack : show(err)
  return text.replaceAll(/^/gm, '    ')
}
