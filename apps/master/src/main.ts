import { runApplication, takeProperties } from '@session-service/server-kit'
import { runMigrateCommand } from './app/migrate-command.js'
import { startMaster } from './app/start-master.js'

const env = takeProperties(process.env)
if (process.argv[2] === 'migrate') process.exit(await runMigrateCommand(env))
else await runApplication((signal) => startMaster(env, signal), { name: 'master' })
