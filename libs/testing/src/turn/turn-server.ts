import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePorts, isProgram, ManagedProcess } from '@session-service/local-stack'

const FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']

export interface TurnServer {
  port: number
  /** Its output, oldest first. */
  lines: readonly string[]
  stop(): Promise<void>
}

/** Starts a real coturn, also a STUN server, on loopback with the service's shared secret. Only tests permit relaying to loopback peers. */
export async function startTurnServer(secret: string, { port: given }: { port?: number } = {}): Promise<TurnServer> {
  const port = given ?? (await freePorts(1))[0] ?? 0
  const folder = mkdtempSync(join(tmpdir(), 'turn-'))
  const lines: string[] = []
  const server = await ManagedProcess.start({
    name: 'coturn',
    command: findTurnServer(process.env),
    args: argumentsFor(port, secret, folder),
    env: { PATH: process.env.PATH ?? '' },
    cwd: folder,
    whenReady: async (coturn, signal) => {
      const said = Promise.withResolvers<void>()
      const stop = coturn.onLine((line) => {
        if (/listener opened on/.test(line)) said.resolve()
      })
      signal.addEventListener('abort', () => said.resolve(), { once: true })
      await said.promise
      stop()
    },
    onLine: (line) => void lines.push(line),
  })
  await server.ready
  return {
    port,
    lines,
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const argumentsFor = (port: number, secret: string, folder: string): string[] => [
  '-n',
  ...['--listening-ip', '127.0.0.1', '--relay-ip', '127.0.0.1', '--listening-port', String(port)],
  ...['--use-auth-secret', '--static-auth-secret', secret, '--realm', 'service.test'],
  ...['--userdb', join(folder, 'turndb'), '--pidfile', join(folder, 'pid'), '--log-file', 'stdout'],
  ...['--no-tls', '--no-dtls', '--no-cli', '--verbose', '--allow-loopback-peers'],
]

function findTurnServer(env: NodeJS.ProcessEnv): string {
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...FOLDERS]
  const found = folders.map((folder) => join(folder, 'turnserver')).find(isProgram)
  if (found) return found
  throw new Error('coturn is not installed: install it (apt-get install coturn)')
}
