import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HELP, parseArguments } from './arguments.mjs'
import { ensureBuild } from './build.mjs'
import { cacheRoot, openCache } from './cache.mjs'
import { ensureCameras } from './cameras.mjs'
import { exitStatus, listenForSignals, runScript } from './child.mjs'
import { withoutNpm } from './exec.mjs'
import { ensureMediaProcessor } from './media-processor.mjs'
import { needsOf } from './needs.mjs'
import { ensurePostgresUser } from './os-user.mjs'
import { ensurePackages } from './packages.mjs'
import { detectPlatform } from './platform.mjs'
import { ensureChromium, ensureFirefox, ensureNats, ensureTurnServer } from './programs.mjs'
import { ensurePrometheus } from './prometheus.mjs'
import { ensureRecording } from './recording.mjs'
import { describeRootChanges, rootChanges } from './root-changes.mjs'
import { ensureScreen } from './screen.mjs'
import { ensureSpeech, speechOptions } from './speech.mjs'
import { Report } from './report.mjs'
import { readScriptOptions } from './script-options.mjs'
import { Interrupted, Stop } from './stop.mjs'
import { ensureToolchain, readNodePin } from './toolchain.mjs'
import { ensureWorker } from './worker.mjs'

const ROOT = realpathSync(fileURLToPath(new URL('../../', import.meta.url)))

const LOOPBACK = 'localhost,127.0.0.1,::1,[::1]'

/** With NODE_USE_ENV_PROXY Node sends requests to this machine to the proxy as well, unless NO_PROXY names it. */
function loopbackWithoutProxy(env) {
  if (!(env.http_proxy ?? env.HTTP_PROXY)) return {}
  const name = env.no_proxy === undefined ? 'NO_PROXY' : 'no_proxy'
  const given = env[name] ?? ''
  // An asterisk counts only alone.
  return given === '*' ? {} : { [name]: given === '' ? LOOPBACK : `${given},${LOOPBACK}` }
}

/** The environment of a script. */
export function scriptEnvironment(env, { toolchain, cache, found }) {
  const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
  return {
    ...withoutNpm(env),
    ...loopbackWithoutProxy(env),
    ...given,
    PATH: [...toolchain.bin, env.PATH].join(delimiter),
    SESSION_SERVICE_CACHE: cache,
  }
}

function createContext({ root = ROOT, env = process.env, report, signal }) {
  const platform = detectPlatform()
  const cache = openCache(cacheRoot(env, homedir()))
  return { root, env, cache, platform, report, signal, uid: process.getuid?.(), pinned: readNodePin(root) }
}

/** Prepares the needs of a purpose; resolves to the environment and the Node of its script. */
async function prepare(context, purpose, needs) {
  const { env, cache, report } = context
  const found = {}
  for (const line of describeRootChanges(await rootChanges(context, needs))) report.note(line)
  context.toolchain = await ensureToolchain(context)
  await ensurePackages(context)
  if (needs.nats) found.NATS_SERVER_BIN = await ensureNats(context)
  if (needs.postgres) await ensurePostgresUser(context)
  if (needs.chromium) found.CHROMIUM_BIN = await ensureChromium(context)
  if (needs.firefox) found.FIREFOX_BIN = await ensureFirefox(context)
  if (needs.coturn) await ensureTurnServer(context)
  if (needs.prometheus) found.PROMETHEUS_BIN = await ensurePrometheus(context)
  if (needs.worker) found.MEDIASOUP_WORKER_BIN = await ensureWorker(context)
  if (needs.recording) found.COMPOSITOR_BIN = await ensureRecording(context, { optional: needs.recording === 'wanted' })
  if (needs.cameras) found.CAMERA_BIN = await ensureCameras(context, { optional: needs.cameras === 'wanted' })
  const processor = needs.mediaProcessor
  if (processor) found.MEDIA_PROCESSOR_BIN = await ensureMediaProcessor(context, { optional: processor === 'wanted' })
  if (needs.screen) await ensureScreen(context, { optional: needs.screen === 'wanted' })
  if (needs.speech) Object.assign(found, await ensureSpeech(context, speechOptions(needs.speech)))
  // Saves each process of the service a fifth of the CPU time of its start.
  found.NODE_COMPILE_CACHE = env.NODE_COMPILE_CACHE ?? join(context.root, 'node_modules/.cache/node-compile')
  const childEnv = scriptEnvironment(env, { toolchain: context.toolchain, cache, found })
  if (needs.build) await ensureBuild({ ...context, env: childEnv })
  report.done(`everything for "${purpose}" is in place`)
  return {
    env: childEnv,
    node: context.toolchain.node,
    changed: ['PATH', 'SESSION_SERVICE_CACHE', ...Object.keys(found).filter((name) => found[name] !== undefined)],
  }
}

const USAGE = 2

function refuse(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = USAGE
}

async function listPackages(context, needs) {
  const lines = describeRootChanges(await rootChanges(context, needs))
  return `${lines.join('\n') || 'nothing is changed as root'}\n`
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`

async function main(argv) {
  const signals = listenForSignals()
  const abort = new AbortController()
  const report = new Report()
  // A closed terminal must not end this process before the script has received its signal.
  process.stderr.on('error', () => {})
  signals.handle = (signal) => {
    // The second signal does not wait for a step that is being finished.
    if (abort.signal.aborted) process.exit(exitStatus(undefined, signal))
    abort.abort()
  }
  try {
    const wanted = parseArguments(argv)
    const { help, error, options } = wanted.help ? { help: HELP } : await readScriptOptions(wanted)
    if (help) return void process.stdout.write(help)
    if (error) return refuse(error)
    const context = createContext({ report, signal: abort.signal })
    const named = options?.speech ? ['speech'] : options?.needs
    const needs = needsOf(wanted.purpose, context.env, named)
    if (wanted.listPackages) return void process.stdout.write(await listPackages(context, needs))
    const ready = await prepare(context, wanted.purpose, needs)
    if (abort.signal.aborted) throw new Interrupted()
    if (wanted.printEnv)
      for (const key of ready.changed) process.stdout.write(`export ${key}=${quote(ready.env[key])}\n`)
    if (!wanted.script) return
    process.exitCode = await runScript({
      ...ready,
      script: resolve(ROOT, wanted.script),
      args: wanted.args,
      cwd: ROOT,
      onSignal: (handle) => (signals.handle = handle),
    })
  } catch (error) {
    process.exitCode = failureStatus(error, report, signals.last)
  }
  // A socket or a timer that is left would keep the process alive.
  process.exit()
}

function failureStatus(error, report, signal) {
  report.fail(error)
  if (error instanceof Interrupted) return exitStatus(undefined, signal)
  // An unexpected error is a fault of the bootstrap: its stack helps to correct it.
  if (!(error instanceof Stop)) process.stderr.write(`${error.stack}\n`)
  return 1
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await main(process.argv.slice(2))
