import { PURPOSES } from './needs.mjs'
import { Stop } from './stop.mjs'

export const HELP = `Prepares this machine and runs a script of the project with the pinned Node.

  node tools/bootstrap/run.mjs <purpose> [--print-env | --list-packages] [--] [script] [arguments…]

purpose
  start   Node, npm packages, nats-server, mediasoup-worker, a user for Postgres, the build;
          ffmpeg, GStreamer and the compositor (without them recording is disabled);
          the program that reads cameras (without it cameras on the network are disabled);
          the media processor (without it transcoding and filters are disabled);
          if there is a Chromium, Xvfb and PulseAudio (without them custom layouts are not recorded);
          with the option --speech of its script Vosk with an English model, and libopus
  test    all of start, Chromium and coturn; Firefox, Prometheus, and speech engines with English models (without them
          their tests are skipped)
  bench   the needs of the named benchmarks; without names the same as test
  check   Node and npm packages only
  image   what container images and installations without containers are made of: the build, mediasoup-worker, the
          programs of recordings, cameras, transcoding and filters, the engine Vosk where it exists for the processor
Without a script it only prepares. --print-env prints the variables for a shell:
  eval "$(node tools/bootstrap/run.mjs test --print-env)"
--list-packages lists the Debian packages that would be installed as root, and installs nothing.

environment
  SESSION_SERVICE_CACHE   folder of downloads and builds (default ~/.cache/session-service)
  MEDIASOUP_WORKER_BIN    use this mediasoup-worker
  NATS_SERVER_BIN         use this nats-server
  COMPOSITOR_BIN          use this compositor of recordings
  CAMERA_BIN              use this program that reads cameras
  MEDIA_PROCESSOR_BIN     use this media processor
  PROMETHEUS_BIN          use this Prometheus, which has promtool beside it
  CHROMIUM_BIN            use this Chromium or Chrome
  FIREFOX_BIN             use this Firefox
  VOSK_LIBRARY, VOSK_MODELS, MOONSHINE_MODELS  use this libvosk.so, and these folders with an en-US model each
  NATS_URL, DATABASE_URL  "start" uses these servers instead of starting its own
  SERVICE_RECORDING       "start" with true fails where recording is impossible, with false prepares nothing for it
  MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD  compile the worker without trying the prebuilt binary
`

/** `{ help }` or `{ purpose, printEnv, script, args }`; arguments after the script belong to the script. */
export function parseArguments(argv) {
  const words = [...argv]
  const options = { printEnv: false, listPackages: false }
  let purpose
  while (words.length > 0) {
    const word = words[0]
    if (word === '--help' || word === '-h') return { help: true }
    if (word === '--') {
      words.shift()
      break
    }
    if (word === '--print-env') options.printEnv = true
    else if (word === '--list-packages') options.listPackages = true
    else if (word.startsWith('-')) throw new Stop(`unknown option ${word}: see --help.`)
    else if (purpose === undefined) purpose = word
    else break
    words.shift()
  }
  if (!PURPOSES.includes(purpose)) {
    throw new Stop(
      `${purpose === undefined ? 'the purpose is missing' : `"${purpose}" is not a purpose`}: use one of ${PURPOSES.join(', ')}; see --help.`,
    )
  }
  const [script, ...args] = words
  return { ...options, purpose, script, args }
}
