// Command line of "npm start". Plain JavaScript for Node 20, because the bootstrap checks it before anything is built.
import { parseArgs } from 'node:util'

/** The command line is invalid; the message names the option. */
export class OptionError extends Error {
  name = 'OptionError'
}

export const HELP = `Runs the whole service on this machine: Postgres, NATS, a master, media nodes and a page to try it.

Usage: npm start -- [options]

  --nodes <n>        number of media nodes (1)
  --port <n>         port of REST and signalling (SERVICE_PORT, else 4443)
  --no-playground    without the page
  --speech <tag>     live captions in this language: fetches its model for the engine Vosk (only en-US;
                     docs/speech-to-text.md describes other languages)
  --data <folder>    data folder (.local)
  --reset            delete all data and the secret of earlier runs first
  --help             show this help

The first run installs what is missing on this machine. "node tools/bootstrap/run.mjs start --list-packages" lists
the Debian packages that it would install as root, and installs nothing.

Environment:
  SERVICE_SECRET     password of the API; default: generated once and kept with the data
  SERVICE_PORT       port of REST and signalling (4443)
  PLAYGROUND_PORT    port of the page (4444); PLAYGROUND_HOST=0.0.0.0 opens it to other machines,
                     PLAYGROUND_HOSTNAMES=demo.example allows that name to browsers behind a proxy
  DATABASE_URL       use this Postgres instead of starting one
  NATS_URL           use this NATS instead of starting one
  MEDIA_NODE_ANNOUNCED_ADDRESS
                     address to which browsers send media; default: the first IPv4 address of this machine that is
                     not loopback, which works for browsers on this machine and in its network
  LOG_LEVEL          error, warn, info or debug (info)
  … and every property of docs/configuration.md.
`

const MAX_NODES = 64
/** The languages whose models the bootstrap fetches. */
const SPEECH_LANGUAGES = ['en-US']

/** Throws OptionError. */
export function parseOptions(args) {
  const values = read(args)
  return {
    nodes: values.nodes === undefined ? 1 : numberOf('--nodes', values.nodes, 1, MAX_NODES),
    port: values.port === undefined ? undefined : numberOf('--port', values.port, 1, 65_535),
    playground: !values['no-playground'],
    speech: values.speech === undefined ? undefined : languageOf(values.speech),
    reset: values.reset ?? false,
    help: values.help ?? false,
    data: values.data === undefined ? undefined : folderOf(values.data),
  }
}

/** An empty text would mean the working directory. */
function folderOf(data) {
  if (data.trim() === '') throw new OptionError('--data must not be empty')
  return data
}

function read(args) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        nodes: { type: 'string' },
        port: { type: 'string' },
        playground: { type: 'boolean' },
        'no-playground': { type: 'boolean' },
        speech: { type: 'string' },
        reset: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        data: { type: 'string' },
      },
    }).values
  } catch (error) {
    // The second sentence of Node is advice about positional arguments, which do not exist here.
    throw new OptionError(error.message.split('. ')[0], { cause: error })
  }
}

function numberOf(name, text, min, max) {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new OptionError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
}

function languageOf(tag) {
  if (SPEECH_LANGUAGES.includes(tag)) return tag
  throw new OptionError(
    `--speech fetches a language model for ${SPEECH_LANGUAGES.join(', ')} only, not for "${tag}": docs/speech-to-text.md describes how to use a models folder of your own`,
  )
}
