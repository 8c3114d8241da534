import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SYSTEM_VARIABLES } from '@session-service/config'
import { ManagedProcess, type OutputLine } from './processes/managed-process.js'
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
}

interface App {
  name: string
  /** Relative to the project, like `bundle`. */
  main: string
  /** `main` with all its modules and their packages in a few files, which start sooner and take less memory. */
  bundle?: string
  opsPort: (env: Readonly<Record<string, string>>) => string
  probe: string
  /** Properties that `env` may override. */
  defaults?: Readonly<Record<string, string>>
}

const MASTER: App = {
  name: 'master',
  main: 'apps/master/dist/main.js',
  bundle: 'apps/master/dist/bundle/main.js',
  opsPort: (env) => env.SERVICE_OPS_PORT ?? '4480',
  probe: '/readyz',
}
const MEDIA_NODE: App = {
  name: 'media-node',
  main: 'apps/media-node/dist/main.js',
  bundle: 'apps/media-node/dist/bundle/main.js',
  opsPort: (env) => env.SERVICE_OPS_PORT ?? '4481',
  probe: '/readyz',
  // A user who stops the whole stack does not wait for sessions to end.
  defaults: { MEDIA_NODE_DRAIN_TIMEOUT: '0' },
}
const PLAYGROUND: App = {
  name: 'playground',
  main: 'apps/playground/dist/server/main.js',
  bundle: 'apps/playground/dist/bundle/main.js',
  opsPort: (env) => env.PLAYGROUND_PORT ?? '4444',
  probe: '/healthz',
}

export const startMaster = (options: AppOptions): Promise<AppProcess> => startApp(MASTER, options)
export const startMediaNode = (options: AppOptions): Promise<AppProcess> => startApp(MEDIA_NODE, options)
export const startPlayground = (options: AppOptions): Promise<AppProcess> => startApp(PLAYGROUND, options)

async function startApp(app: App, options: AppOptions): Promise<AppProcess> {
  const main = programOf(app)
  const opsUrl = `http://127.0.0.1:${app.opsPort(options.env)}`
  const started = await ManagedProcess.start({
    name: options.name ?? app.name,
    command: options.node ?? process.execPath,
    args: ['--enable-source-maps', main],
    env: { ...systemEnv(), ...app.defaults, ...options.env },
    cwd: ROOT,
    whenReady: answersOk(opsUrl + app.probe),
    onLine: options.onLine,
    ...(options.stopTimeoutMs !== undefined && { stopTimeoutMs: options.stopTimeoutMs }),
  })
  return Object.assign(started, { opsUrl })
}

/** The bundle, unless something was compiled after it. */
function programOf({ main, bundle }: App): string {
  if (!existsSync(join(ROOT, main))) throw new Error(`${main} does not exist: build it with "npx tsc -b"`)
  const bundledAt = bundle === undefined ? undefined : modifiedAt(join(ROOT, bundle))
  return join(ROOT, bundle !== undefined && bundledAt !== undefined && bundledAt > compiledAt() ? bundle : main)
}

/** The last change of a compiled package, ms. */
function compiledAt(): number {
  const packages = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => join(folder, name)),
  )
  return Math.max(...packages.map((folder) => modifiedAt(join(ROOT, folder, 'dist/.tsbuildinfo')) ?? 0))
}

const modifiedAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs

/** Only variables of the system: no configuration of this process leaks into the app. */
const systemEnv = (): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
