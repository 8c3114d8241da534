import { runApplication } from '@session-service/server-kit'
import { startMaster } from './start-master.js'

await runApplication((signal) => startMaster(process.env, signal), { name: 'master' })
