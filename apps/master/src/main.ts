import { runApplication, takeProperties } from '@session-service/server-kit'
import { runMigrateCommand } from './app/migrate-command.js'
import { startMaster } from './app/start-master.js'

/** Exit code for a wrong command (EX_USAGE of sysexits). */
const EXIT_USAGE = 64

const env = takeProperties(process.env)
const command = process.argv[2]
if (command !== undefined && command !== 'migrate') {
  process.stderr.write(`unknown command ${JSON.stringify(command)}: only migrate\n`)
  process.exit(EXIT_USAGE)
}
if (command === 'migrate') process.exit(await runMigrateCommand(env))
else await runApplication((signal) => startMaster(env, signal), { name: 'master' })
