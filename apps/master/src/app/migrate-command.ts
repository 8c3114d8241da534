import { ConfigError, type Environment, loadMigrationConfig } from '@session-service/config'
import { createLogger, dropPrivileges, EXIT_CONFIG } from '@session-service/server-kit'
import { migrateDatabase, untilReachable } from './start-application.js'

/** A job that is started with its database waits for it this long, ms. */
const DATABASE_TIMEOUT_MS = 300_000
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * The command `migrate`: brings the schema up to date and returns the exit code. Several may run at once, beside masters
 * too: an advisory lock of the database admits one.
 */
export async function runMigrateCommand(env: Environment): Promise<number> {
  const logger = createLogger({ level: 'info', format: 'json', name: 'migrate' })
  const ending = new AbortController()
  for (const signal of SIGNALS) process.once(signal, () => ending.abort(new Error(`terminated by ${signal}`)))
  try {
    return await migrateOnce(env, ending.signal)
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems) process.stderr.write(`${problem}\n`)
      return EXIT_CONFIG
    }
    logger.fatal({ err: error }, 'the migration failed')
    return 1
  }
}

async function migrateOnce(env: Environment, signal: AbortSignal): Promise<number> {
  const config = loadMigrationConfig(env)
  const logger = createLogger({ level: config.SERVICE_LOG_LEVEL, format: config.SERVICE_LOG_FORMAT, name: 'migrate' })
  await dropPrivileges({ runAs: config.SERVICE_RUN_AS, ports: [], folders: [], files: [], logger })
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(DATABASE_TIMEOUT_MS)])
  const state = await untilReachable('the database', { logger, signal: waiting }, () =>
    migrateDatabase(config.DATABASE_URL, { logger, signal }),
  )
  if (state.kind === 'newer') logger.warn(`a later version migrated the database: ${state.unknown.join(', ')}`)
  else logger.log(state.kind === 'older' ? 'the schema is migrated' : 'the schema is up to date')
  return 0
}
