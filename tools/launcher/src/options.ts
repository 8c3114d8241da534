import { parseArgs } from 'node:util'

export interface LauncherOptions {
  nodes: number
  /** Of REST and signalling; undefined: SERVICE_PORT or the default. */
  port: number | undefined
  playground: boolean
  reset: boolean
  help: boolean
  /** Where data are kept; undefined: .local in the project. */
  data: string | undefined
}

/** The command line cannot be used; the message names the option. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

export const HELP = `Runs the whole service on this machine: Postgres, NATS, a master, media nodes and a page to try it.

Usage: npm start -- [options]

  --nodes <n>        media nodes to run (1)
  --port <n>         port of REST and signalling (SERVICE_PORT, else 4443)
  --no-playground    without the page
  --data <folder>    where data are kept (.local)
  --reset            forget all data and the secret of earlier runs first
  --help             show this

Environment:
  SERVICE_SECRET     password of the API; else one is made once and kept with the data
  SERVICE_PORT       port of REST and signalling (4443)
  PLAYGROUND_PORT    port of the page (4444); PLAYGROUND_HOST=0.0.0.0 opens it to other machines,
                     PLAYGROUND_HOSTNAMES=demo.example names it to browsers that come through a proxy here
  DATABASE_URL       use this Postgres instead of starting one
  NATS_URL           use this NATS instead of starting one
  MEDIA_NODE_ANNOUNCED_ADDRESS
                     address to which browsers send media; else the first IPv4 address of this machine that is
                     not loopback, so that browsers here and in the same network get through
  LOG_LEVEL          error, warn, info or debug (info)
  … and every property of docs/configuration.md.
`

const MAX_NODES = 64

/** Throws OptionError. */
export function parseOptions(args: readonly string[]): LauncherOptions {
  const values = read(args)
  return {
    nodes: values.nodes === undefined ? 1 : numberOf('--nodes', values.nodes, 1, MAX_NODES),
    port: values.port === undefined ? undefined : numberOf('--port', values.port, 1, 65_535),
    playground: values.playground ?? true,
    reset: values.reset ?? false,
    help: values.help ?? false,
    data: values.data,
  }
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        nodes: { type: 'string' },
        port: { type: 'string' },
        playground: { type: 'boolean' },
        reset: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        data: { type: 'string' },
      },
    }).values
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new OptionError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
}
