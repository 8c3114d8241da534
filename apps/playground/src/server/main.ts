import { ConfigError } from '@session-service/config'
import { listenOnPrivilegedPort, dropPrivileges } from '@session-service/server-kit/run-as'
import { buildApp } from './app.js'
import { type PlaygroundConfig, readConfig } from './config.js'

const EX_CONFIG = 78

function configOrExit(): PlaygroundConfig {
  try {
    return readConfig(process.env)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return process.exit(EX_CONFIG)
  }
}

/** Drops root; ends the process with one line per problem of the configuration. */
async function dropPrivilegesOrExit({ runAs, host, port }: PlaygroundConfig): Promise<void> {
  try {
    await dropPrivileges({ runAs, ports: [{ host, port }], logger: console })
  } catch (error) {
    console.error(error instanceof ConfigError ? error.problems.join('\n') : error)
    process.exit(error instanceof ConfigError ? EX_CONFIG : 1)
  }
}

const config = configOrExit()
await dropPrivilegesOrExit(config)
const app = buildApp(config)
listenOnPrivilegedPort(app.server, config)
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close())
await app.listen({ host: config.host, port: config.port })
console.log(`playground on http://${config.host}:${config.port}, service at ${config.serviceUrl}`)
