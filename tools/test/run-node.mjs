import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'

const KEPT_OUTPUT = 1_000_000
const children = new Set()

let interrupted = false

// Ctrl-C in a terminal reaches child processes too; a signal to this process alone is forwarded to them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    interrupted = true
    for (const child of children) child.kill(signal)
  })

/**
 * Runs Node to its end; resolves to `{ code, output, ms }`, output being what it wrote to both streams.
 * Throws, without starting a process, after this process has received a termination signal.
 */
export async function runNode(args, { cwd, env = process.env } = {}) {
  if (interrupted) throw new Error('interrupted')
  const started = performance.now()
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (output = (output + data).slice(-KEPT_OUTPUT)))
  const code = await new Promise((resolve) => child.once('close', resolve))
  children.delete(child)
  if (interrupted) throw new Error('interrupted')
  // Some programs write terminal colors in CI.
  const shown = process.stdout.isTTY ? output : stripVTControlCharacters(output)
  return { code: code ?? 1, output: shown, ms: performance.now() - started }
}
