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

const config = configOrExit()
const app = buildApp(config)
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close())
await app.listen({ host: config.host, port: config.port })
console.log(`playground on http://${config.host}:${config.port}, service at ${config.serviceUrl}`)
