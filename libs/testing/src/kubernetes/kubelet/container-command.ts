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
  /** The address of the machine, for containers with ports of the machine. */
  hostPortAddress?: string | undefined
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
  { podAddress, hostPortAddress = podAddress, namespace, hostsFile, mounts, apiServer }: CommandPlace,
): Record<string, string> {
  const own = Object.fromEntries([...variables].map(([name, value]) => [name, translatePaths(value, mounts)]))
  const listen = program.listenProperties.filter((name) => WILDCARDS.has(own[name] ?? ''))
  return {
    ...program.env,
    ...mountedFolders(program, mounts),
    KUBERNETES_SERVICE_HOST: apiServer.host,
    KUBERNETES_SERVICE_PORT: apiServer.port,
    ...serviceAccountFiles(mounts, namespace),
    ...own,
    ...Object.fromEntries(
      listen.map((name) => [name, program.hostPortProperties.includes(name) ? hostPortAddress : podAddress]),
    ),
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
  if (command.length > 0 && !isEntrypoint) return localWords(own([...command, ...args]), place)
  const given = own([...command.slice(1), ...args])
  return [...program.entrypoint, ...given.map((word) => localWord(word, place)), ...program.lastArguments]
}

/** Words of a command that runs in a container, such as that of a probe. */
export const localWords = (words: readonly string[], place: CommandPlace): string[] =>
  words.map((word, nth) => (nth === 0 && word === 'node' ? process.execPath : localWord(word, place)))

const localWord = (word: string, { mounts, podAddress }: CommandPlace): string =>
  translatePaths(word, mounts).replaceAll(LOCALHOST, podAddress)

/** Programs read them from this folder unless a property names other files. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
function serviceAccountFiles(mounts: readonly Mount[], namespace: string): Record<string, string> {
  const folder = mounts.find(({ path }) => path === SERVICE_ACCOUNT)?.folder
  if (folder === undefined) return {}
  return {
    SERVICE_KUBERNETES_TOKEN_FILE: join(folder, 'token'),
    SERVICE_KUBERNETES_CA_FILE: join(folder, 'ca.crt'),
    SERVICE_KUBERNETES_NAMESPACE: namespace,
  }
}

const mountedFolders = ({ folderVariables }: ImageProgram, mounts: readonly Mount[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(folderVariables).flatMap(([name, path]): [string, string][] => {
      const folder = translatePaths(path, mounts)
      return folder === path ? [] : [[name, folder]]
    }),
  )
