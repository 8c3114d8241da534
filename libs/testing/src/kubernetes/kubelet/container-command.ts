import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Container } from '../control-plane/objects.js'
import { expand } from './expand.js'
import type { ImageProgram } from './images.js'
import { type Mount, translatePaths } from './paths.js'

const WILDCARDS = new Set(['', '0.0.0.0', '::'])
/** In a pod both are its own; here its own is its address. */
const LOCALHOST = /\b(127\.0\.0\.1|localhost)(?=:\d)/g
const PRELOAD = new URL('../network/preload.js', import.meta.url).href

export interface CommandPlace {
  podAddress: string
  namespace: string
  hostsFile: string
  mounts: readonly Mount[]
  /** The address of the API server, as every pod gets it. */
  apiServer: { host: string; port: string }
}

/** The whole environment of the program of a container. */
export function programEnv(
  program: ImageProgram,
  variables: ReadonlyMap<string, string>,
  { podAddress, namespace, hostsFile, mounts, apiServer }: CommandPlace,
): Record<string, string> {
  const own = Object.fromEntries([...variables].map(([name, value]) => [name, translatePaths(value, mounts)]))
  const listen = program.listenProperties.filter((name) => WILDCARDS.has(own[name] ?? ''))
  return {
    ...Object.fromEntries(Object.entries(program.env).map(([name, value]) => [name, translatePaths(value, mounts)])),
    KUBERNETES_SERVICE_HOST: apiServer.host,
    KUBERNETES_SERVICE_PORT: apiServer.port,
    ...serviceAccountFiles(mounts),
    ...own,
    ...Object.fromEntries(listen.map((name) => [name, podAddress])),
    RIG_HOSTS: hostsFile,
    RIG_NAMESPACE: namespace,
    RIG_POD_ADDRESS: podAddress,
    NODE_OPTIONS: `${own.NODE_OPTIONS ?? ''} --import=${PRELOAD}`.trim(),
  }
}

/** The words of the program of a container: those of the container, else those of the image. */
export function programWords(
  program: ImageProgram,
  { command, args }: Pick<Container, 'command' | 'args'>,
  variables: ReadonlyMap<string, string>,
  place: CommandPlace,
): string[] {
  const own = (words: readonly string[]): string[] => words.map((word) => expand(word, variables))
  // The entry point of the image ends where its main program is named: the rest of such a command are its arguments.
  const isEntrypoint = command[0] !== undefined && /^(nats-server|postgres|docker-entrypoint\.sh)$/.test(command[0])
  const start = command.length === 0 || isEntrypoint ? program.entrypoint : own(command)
  const given = own([...(isEntrypoint ? command.slice(1) : []), ...args])
  const last = command.length === 0 || isEntrypoint ? program.lastArguments : []
  const rest = given.length > 0 || command.length > 0 ? given : program.defaultArguments
  return [...localWords([...start], place), ...localWords(rest, place), ...last]
}

/** Words of a command that runs in a container, such as that of a probe. */
export const localWords = (words: readonly string[], { mounts, podAddress }: CommandPlace): string[] =>
  words.map((word, nth) =>
    nth === 0 && word === 'node'
      ? process.execPath
      : translatePaths(word, mounts).replaceAll(LOCALHOST, podAddress),
  )

/** Programs read them from this folder unless a property names other files. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
function serviceAccountFiles(mounts: readonly Mount[]): Record<string, string> {
  const folder = mounts.find(({ path }) => path === SERVICE_ACCOUNT)?.folder
  if (folder === undefined || !existsSync(folder)) return {}
  return {
    SERVICE_KUBERNETES_TOKEN_FILE: join(folder, 'token'),
    SERVICE_KUBERNETES_CA_FILE: join(folder, 'ca.crt'),
    // The driver reads its namespace there as well.
    RIG_SERVICE_ACCOUNT_FOLDER: folder,
  }
}
