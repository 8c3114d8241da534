import { join, resolve } from 'node:path'
import { messageOf } from '@session-service/server-kit/async'
import { chooseAccount } from './run-as.js'
import { banner } from './banner.js'
import { ConsoleLog } from './console-log.js'
import { explainFileError, openDataFolder, resetDataFolder } from './data-folder.js'
import { dashboardEnv, givenEnv, pageUrl, serviceUrl } from './environments.js'
import { LocalService } from './local-service.js'
import { type Level, LEVELS, readLogLine } from './log-line.js'
import { HELP, type LauncherOptions, OptionError, parseOptions } from './options.js'
import { choosePorts } from './ports.js'
import { findSecret } from './kept.js'
import { speechFiles } from './speech.js'

const ROOT = resolve(import.meta.dirname, '../../..')
const USAGE = 2
const FORCED = 130

interface LauncherHost {
  args: readonly string[]
  env: NodeJS.ProcessEnv
  write: (text: string) => void
  colours: boolean
  /** Calls the listener with each termination signal. */
  onEnd: (listener: () => void) => void
  exit: (code: number) => never
}

/** Runs the service until a termination signal; resolves to the exit code. */
export async function launch(host: LauncherHost): Promise<number> {
  try {
    const options = parseOptions(host.args)
    if (options.help) {
      host.write(HELP)
      return 0
    }
    const dataFolder = resolve(options.data ?? join(ROOT, '.local'))
    return await run(options, dataFolder, host).catch((error: unknown) => {
      throw explainFileError(error, dataFolder)
    })
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
    host.write(`${error.message}\n`)
    return USAGE
  }
}

async function run(options: LauncherOptions, dataFolder: string, host: LauncherHost): Promise<number> {
  const { env } = host
  const log = new ConsoleLog({ level: levelOf(env), colours: host.colours, write: host.write })
  const started = performance.now()
  const unlock = await openDataFolder(dataFolder)
  if (options.reset) await resetDataFolder(dataFolder, env, log)
  const secret = findSecret(env, dataFolder)
  const ports = await choosePorts({ env, ...options }, (text) => log.line('launcher', 'warn', text))
  const runAs = chooseAccount(givenEnv(env), ROOT, dataFolder)
  if (runAs.warning !== undefined) log.line('launcher', 'warn', runAs.warning)
  const speech =
    options.speech === undefined ? undefined : speechFiles(options.speech, givenEnv(env), runAs.account, dataFolder)
  const service = new LocalService({ env, dataFolder, secret, ports, runAs, speech, nodes: options.nodes, log })
  const ended = endRequests(host, service, log)
  try {
    const outcome = await Promise.race([service.start().then(() => 'ready' as const), ended])
    if (outcome === 'ready') {
      const page = pageUrl(givenEnv(env), ports)
      const seconds = (performance.now() - started) / 1000
      const address = env.SERVICE_PUBLICURL || serviceUrl(givenEnv(env), ports)
      const { nodes, speech: captions } = options
      const hasDashboard = dashboardEnv(givenEnv(env)).SERVICE_PRO_DASHBOARD === 'true'
      const facts = { page, service: address, hasDashboard, secret, seconds, nodes, captions }
      log.print(banner(facts, (text) => log.paint(1, text)))
      await ended
    }
    await service.stop()
    log.print('All processes have stopped.')
    return 0
  } catch (error) {
    log.print(log.paint(31, explain(explainFileError(error, dataFolder))))
    await service.stop()
    return 1
  } finally {
    unlock()
  }
}

/** Resolves at the first termination signal; the second one kills all processes. */
function endRequests(host: LauncherHost, service: LocalService, log: ConsoleLog): Promise<'ended'> {
  let signals = 0
  return new Promise((done) => {
    host.onEnd(() => {
      signals++
      if (signals === 1) {
        log.print('Stopping … (repeat to force)')
        done('ended')
      } else {
        service.kill()
        log.print('Killed all processes.')
        host.exit(FORCED)
      }
    })
  })
}

function levelOf(env: NodeJS.ProcessEnv): Level {
  const wanted = env.LOG_LEVEL || env.SERVICE_LOG_LEVEL || 'info'
  const level = LEVELS.find((each) => each === wanted)
  if (level) return level
  throw new OptionError(`LOG_LEVEL must be one of ${LEVELS.join(', ')}, not "${wanted}"`)
}

/** Formats the output lines of a process that an error may contain. */
const explain = (error: unknown): string =>
  messageOf(error)
    .split('\n')
    .map((line) => readLogLine('launcher', line).text)
    .join('\n')
