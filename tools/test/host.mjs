// Runs the compiled test files that its parent sends, `{ file, results }`, one after another, and ends at 'end'. Half of the
// processor time of a short file is the loading of modules, which here the next file has at hand. A file has ended once it
// has nothing open any more, as a process of its own would end: then both streams get END. After a file that failed the
// process ends.
import { runHere } from './circus.mjs'
import { END } from './end-of-file.mjs'

const env = { ...process.env }
let mayGoOn = false

process.on('message', async (task) => {
  if (task === 'end') return process.disconnect()
  const { file, results } = task
  const hasPassed = await runHere(file, results, { startTime: performance.timeOrigin + performance.now() })
  if (hasPassed) mayGoOn = true
  else process.exitCode = 1
  process.channel?.unref()
})

process.on('beforeExit', () => {
  if (!mayGoOn || process.exitCode) return
  mayGoOn = false
  restoreEnvironment()
  process.channel?.ref()
  for (const stream of [process.stdout, process.stderr]) stream.write(END)
})

function restoreEnvironment() {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
