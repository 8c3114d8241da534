import { LOG_LEVELS, type LogLevel, type ServiceLogger } from '../logging/logger.js'
import { type Answer, json, type OpsService } from './ops.service.js'

const isLogLevel = (value: string | null): value is LogLevel => LOG_LEVELS.some((level) => level === value)

/** Changes the level of the process at once, until its end. */
function changeLevel(logger: ServiceLogger, value: string | null): Answer {
  if (!isLogLevel(value)) return json(400, { error: `level: must be one of ${LOG_LEVELS.join(', ')}` })
  const former = logger.level
  if (value !== former) logger.warn(`the log level changes from ${former} to ${value}`, 'LogLevel')
  logger.level = value
  return json(200, { level: value, former })
}

/** Serves `POST /log-level?level=debug` on the port of the probes, to this machine only. */
export const serveLogLevel = (ops: OpsService, logger: ServiceLogger): void =>
  ops.onPost('/log-level', (query) => changeLevel(logger, query.get('level')))
