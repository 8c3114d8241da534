import { readFile } from 'node:fs/promises'

const DRIVERS = [
  ...['aurora-mysql', 'aurora-postgres', 'better-sqlite3', 'capacitor', 'cockroachdb', 'cordova', 'expo', 'mongodb'],
  ...['mysql', 'nativescript', 'oracle', 'react-native', 'sap', 'spanner', 'sqlite-abstract', 'sqljs', 'sqlserver'],
].join('|')

const NOTHING = () => 'module.exports = {}'

/** What programs never use of their packages; Node would read it, run it and keep its text at each start. */
const OF_PROGRAMS = [
  // pino looks up its caller for transports: under `--enable-source-maps` Node would read the source map of the program.
  [/[\\/]pino[\\/]lib[\\/]caller\.js$/, () => 'module.exports = () => []'],
  // NATS keeps the stack trace of each close for a message of its own: that reads the source map at each stop.
  [/[\\/]nats-core[\\/]lib[\\/]protocol\.js$/, (text) => text.replace('new Error("close trace").stack', '"closed"')],
  // The drivers of other databases: half of TypeORM.
  [new RegExp(`[\\\\/]typeorm[\\\\/]driver[\\\\/](${DRIVERS})[\\\\/]\\w+\\.js$`), NOTHING],
  // Error messages in forty other languages.
  [/[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/, () => "export { default as en } from './en.js'"],
]

/** Modules of mediasoup-client for its tests, for React Native and for browsers older than those of our pages. */
const OF_PAGES = [
  [/mediasoup-client[\\/]lib[\\/](handlers[\\/](FakeHandler|ReactNative106|Chrome74)|test[\\/].*)\.js$/, NOTHING],
]

/** A plugin of esbuild. */
const leavesOut = (replaced) => ({
  name: 'leave-out',
  setup({ onLoad }) {
    for (const [filter, replace] of replaced)
      onLoad({ filter }, async ({ path }) => ({ contents: replace(await readFile(path, 'utf8')) }))
  },
})

export const leaveOutOfPrograms = leavesOut(OF_PROGRAMS)
export const leaveOutOfPages = leavesOut(OF_PAGES)
