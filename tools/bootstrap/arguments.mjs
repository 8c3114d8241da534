import { PURPOSES } from './needs.mjs'
import { Stop } from './stop.mjs'

export const HELP = `Makes this machine ready and runs a script of the project with the pinned Node.

  node tools/bootstrap/run.mjs <purpose> [--print-env] [--] [script] [arguments…]

purpose
  start   Node, npm packages, nats-server, mediasoup-worker, a user for Postgres, ffmpeg, GStreamer and the
          compositor of recordings (where they cannot be had, recording is off), beside a Chromium Xvfb and
          PulseAudio (where they cannot be had, custom layouts are not recorded), the build
  test    all of start, and Chromium and coturn
  bench   the same as test
  check   Node and npm packages only
Without a script it only makes ready. --print-env prints what to set in a shell:
  eval "$(node tools/bootstrap/run.mjs test --print-env)"

environment
  SESSION_SERVICE_CACHE   where downloads and builds are kept (default ~/.cache/session-service)
  MEDIASOUP_WORKER_BIN    a mediasoup-worker to use instead of one of ours
  NATS_SERVER_BIN         a nats-server to use
  COMPOSITOR_BIN          a compositor of recordings to use instead of one of ours
  CHROMIUM_BIN            a Chromium or Chrome to use
  NATS_URL, DATABASE_URL  servers for "start" to use instead of its own
  SERVICE_RECORDING       for "start": true to end when nothing can be recorded, false to make nothing ready for it
  MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD  build the worker from source without looking for a binary
`

/** `{ help }` or `{ purpose, printEnv, script, args }`; what follows the script is the script's own. */
export function parseArguments(argv) {
  const words = [...argv]
  const options = { printEnv: false }
  let purpose
  while (words.length > 0) {
    const word = words[0]
    if (word === '--help' || word === '-h') return { help: true }
    if (word === '--') {
      words.shift()
      break
    }
    if (word === '--print-env') options.printEnv = true
    else if (word.startsWith('-')) throw new Stop(`unknown option ${word}: see --help.`)
    else if (purpose === undefined) purpose = word
    else break
    words.shift()
  }
  if (!PURPOSES.includes(purpose)) {
    throw new Stop(
      `${purpose === undefined ? 'a purpose is missing' : `"${purpose}" is no purpose`}: it is one of ${PURPOSES.join(', ')}; see --help.`,
    )
  }
  const [script, ...args] = words
  return { ...options, purpose, script, args }
}
