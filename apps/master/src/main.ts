import { runApplication, takeProperties } from '@session-service/server-kit'
import { startMaster } from './app/start-master.js'

await runApplication((signal) => startMaster(takeProperties(process.env), signal), { name: 'master' })
