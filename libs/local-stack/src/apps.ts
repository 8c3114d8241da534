import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { MEMORY_VARIABLES, SYSTEM_VARIABLES } from '@session-service/config'
import { ManagedProcess, type OutputLine } from './processes/managed-process.js'
import { urlHostOf } from './listen-address.js'
import { answersOk } from './processes/readiness.js'

const ROOT = resolve(import.meta.dirname, '../../..')

export interface AppOptions {
  /** The properties by name. Variables of the system are added. */
  env: Readonly<Record<string, string>>
  /** The name in messages; that of the app by default. */
  name?: string
  /** Path of the Node executable; that of this process by default. */
  node?: string
  onLine?: OutputLine
  stopTimeoutMs?: number
  /** The folder of a repository whose programs are started, of another version for example; this one by default. */
  root?: string
}

/** A process of one of our apps. */
export interface AppProcess extends Pick<
  ManagedProcess,
  | 'name'
  | 'pid'
  | 'env'
  | 'ready'
  | 'exited'
  | 'running'
  | 'killed'
  | 'lastLines'
  | 'onLine'
  | 'stop'
  | 'kill'
  | 'killGroup'
> {
  /** Base URL of its probes, and of its metrics if it has any. */
  opsUrl: string
  /** The folder of the repository that the program is of. */
  root: string
}

interface App {
  name: string
  /** Relative to the project, like `bundle`. */
  main: string
  /** `main` with all its modules and their packages in a few files, which start sooner and take less memory. */
  bundle?: string
  opsPort: (env: Readonly<Record<string, string>>) => string
  /** The property with the listen address of its probes. */
  opsHost: string
  probe: string
  /** Properties that `env` may override. */
  defaults?: Readonly<Record<string, string>>
}

const MASTER: App = {
  name: 'master',
  main: 'apps/master/dist/main.js',
  bundle: 'apps/master/dist/bundle/main.js',
  opsPort: (env) => env.SERVICE_OPS_PORT ?? '4480',
  opsHost: 'SERVICE_OPS_HOST',
  probe: '/readyz',
}
const MEDIA_NODE: App = {
  name: 'media-node',
  main: 'apps/media-node/dist/main.js',
  bundle: 'apps/media-node/dist/bundle/main.js',
  opsPort: (env) => env.SERVICE_OPS_PORT ?? '4481',
  opsHost: 'SERVICE_OPS_HOST',
  probe: '/readyz',
  // A user who stops the whole stack does not wait for sessions to end, nor for recordings: their folder remains.
  defaults: { MEDIA_NODE_DRAIN_TIMEOUT: '0', MEDIA_NODE_RECORDING_FINISH_TIMEOUT: '0' },
}
const PLAYGROUND: App = {
  name: 'playground',
  main: 'apps/playground/dist/server/main.js',
  bundle: 'apps/playground/dist/bundle/main.js',
  opsPort: (env) => env.PLAYGROUND_PORT ?? '4444',
  opsHost: 'PLAYGROUND_HOST',
  probe: '/healthz',
}

export const startMaster = (options: AppOptions): Promise<AppProcess> => startApp(MASTER, options)
export const startMediaNode = (options: AppOptions): Promise<AppProcess> => startApp(MEDIA_NODE, options)
export const startPlayground = (options: AppOptions): Promise<AppProcess> => startApp(PLAYGROUND, options)

async function startApp(app: App, options: AppOptions): Promise<AppProcess> {
  const { root = ROOT } = options
  const main = programOf(app, root)
  const opsUrl = `http://${urlHostOf(options.env[app.opsHost])}:${app.opsPort(options.env)}`
  const started = await ManagedProcess.start({
    name: options.name ?? app.name,
    command: options.node ?? process.execPath,
    args: ['--enable-source-maps', main],
    env: { ...MEMORY_VARIABLES, ...systemEnv(), ...app.defaults, ...options.env },
    cwd: root,
    whenReady: answersOk(opsUrl + app.probe),
    onLine: options.onLine,
    ...(options.stopTimeoutMs !== undefined && { stopTimeoutMs: options.stopTimeoutMs }),
  })
  return Object.assign(started, { opsUrl, root })
}

/** The program of an app in a build of the workspace, which is this one by default. */
export const programPath = (app: 'master' | 'media-node' | 'playground', root = ROOT): string =>
  programOf({ master: MASTER, 'media-node': MEDIA_NODE, playground: PLAYGROUND }[app], root)

/** The bundle, unless something was compiled after it. */
function programOf({ main, bundle }: App, root: string): string {
  if (!existsSync(join(root, main))) throw new Error(`${main} does not exist: build it with "npx tsc -b"`)
  const bundledAt = bundle === undefined ? undefined : modifiedAt(join(root, bundle))
  return join(root, bundle !== undefined && bundledAt !== undefined && bundledAt > compiledAt(root) ? bundle : main)
}

/** The last change of a compiled package, ms. */
function compiledAt(root: string): number {
  const packages = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name)),
  )
  return Math.max(...packages.map((folder) => modifiedAt(join(root, folder, 'dist/.tsbuildinfo')) ?? 0))
}

const modifiedAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/** Only variables of the system: no configuration of this process leaks into the app. */
export const systemEnv = (): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
