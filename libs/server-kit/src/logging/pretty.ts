const OWN = new Set(['level', 'time', 'name', 'context', 'msg', 'err', 'pid', 'hostname'])

const show = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? 'undefined')

const plain = (value: unknown): string => (typeof value === 'string' ? value : show(value))
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function stackOf(err: unknown): string {
  if (err === undefined) return ''
  const text = isRecord(err) && typeof err.stack === 'string' ? err.stack : show(err)
  return text.replace(/^/gm, '    ') + '\n'
}

/** Formats a JSON log line for humans: time, level, process and context, text, then the fields. */
export function prettyLine(line: string): string {
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch {
    return line
  }
  if (!isRecord(entry)) return line
  const { time, level, name, context, msg, err } = entry
  const fields = Object.entries(entry).filter(([key]) => !OWN.has(key))
  const parts = [
    plain(time).slice(11, 23),
    plain(level).toUpperCase().padEnd(5),
    context === undefined ? plain(name) : `${plain(name)} [${plain(context)}]`,
    ...(msg === undefined ? [] : [plain(msg)]),
    ...fields.map(([key, value]) => `${key}=${show(value)}`),
  ]
  return `${parts.join(' ')}\n${stackOf(err)}`
}
