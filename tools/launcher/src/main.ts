import { launch } from './launcher.js'

const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

// A closed terminal must not keep us from ending what we started.
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
