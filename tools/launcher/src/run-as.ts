import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Account, executableFor, mayEnter, mayRead, serverAccount } from '@session-service/local-stack'
import { resolveAccount } from '@session-service/server-kit/run-as'
import type { Env } from './environments.js'
import { OptionError } from './options.js'

/** Files that the processes read after they have dropped root; they stand for the whole project folder. */
const FILES_READ_LATER = ['apps/media-node/dist/bundle/main.js', 'node_modules/mediasoup/package.json']
const PROGRAMS = ['MEDIASOUP_WORKER_BIN', 'COMPOSITOR_BIN', 'CAMERA_BIN', 'MEDIA_PROCESSOR_BIN'] as const

export interface RunAs {
  /** Account of NATS and of the data; undefined: that of the launcher. */
  account: Account | undefined
  /** SERVICE_RUN_AS of master, media nodes and playground. */
  property?: string
  warning?: string
}

/**
 * Chooses the account of the processes that a launcher run by root starts: SERVICE_RUN_AS, else the account that
 * Postgres needs anyway. When that account cannot read the project or the data, the processes stay root, with a warning.
 */
export function chooseAccount(given: Env, projectFolder: string, dataFolder: string): RunAs {
  if (process.getuid?.() !== 0) return { account: undefined }
  const { SERVICE_RUN_AS: configured } = given
  const account = configured === undefined ? serverAccount() : configuredAccount(configured)
  if (!account || account.uid === 0) return { account: undefined, property: 'root' }
  const canReadProject = FILES_READ_LATER.every((file) => mayRead(account, join(projectFolder, file)))
  const unreadable = [
    ...(canReadProject ? [] : [projectFolder]),
    ...(mayEnter(account, dataFolder) ? [] : [dataFolder]),
  ]
  if (unreadable.length === 0) return { account, property: configured ?? account.name }
  const problem = `the account "${account.name}" cannot read ${unreadable.join(' and ')}`
  if (configured !== undefined) throw new OptionError(`SERVICE_RUN_AS: ${problem}`)
  const advice =
    'Use a folder that every account can enter, such as one in /opt, and umask 022 from the clone on, so that every account can read the files'
  return { account: undefined, property: 'root', warning: `the service runs as root: ${problem}. ${advice}` }
}

function configuredAccount(runAs: string): Account {
  const found = resolveAccount(runAs)
  if (!found) throw new OptionError(`SERVICE_RUN_AS: there is no account "${runAs}"`)
  return { ...found, name: found.name ?? runAs }
}

/** Adds SERVICE_RUN_AS, and paths of the programs that the account can execute. */
export const withAccount = (given: Env, { account, property }: RunAs): Env => ({
  ...given,
  ...Object.fromEntries(
    PROGRAMS.flatMap((name) => {
      const program = given[name]
      return program !== undefined && existsSync(program) ? [[name, executableFor(account, program)]] : []
    }),
  ),
  ...(property !== undefined && { SERVICE_RUN_AS: property }),
})
