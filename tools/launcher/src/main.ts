import { launch } from './launcher.js'

const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

// A write to a closed terminal must not prevent the shutdown of the child processes.
process.stdout.on('error', () => {})

process.exit(
  await launch({
    args: process.argv.slice(2),
    env: process.env,
    write: (text) => process.stdout.write(text),
    colours: process.stdout.isTTY && !process.env.NO_COLOR,
    onEnd: (listener) => {
      for (const signal of END_SIGNALS) process.on(signal, listener)
    },
    exit: (code) => process.exit(code),
  }),
)
