import { readFile } from 'node:fs/promises'

const DRIVERS = [
  ...['aurora-mysql', 'aurora-postgres', 'better-sqlite3', 'capacitor', 'cockroachdb', 'cordova', 'expo', 'mongodb'],
  ...['mysql', 'nativescript', 'oracle', 'react-native', 'sap', 'spanner', 'sqlite-abstract', 'sqljs', 'sqlserver'],
].join('|')

const NOTHING = () => 'module.exports = {}'
const NO_COMPILER = () =>
  "module.exports = () => () => { throw new Error('this program has no compiler for JSON schemas') }"
/** Keeps the names of an ES module's classes, which others import. */
const EMPTY_CLASSES = (text) =>
  [...text.matchAll(/^export class (\w+)/gm)].map(([, name]) => `export class ${name} {}`).join('\n')

/** The parts of packages that programs never use; Node would read them, run them and keep their text at each start. */
const OF_PROGRAMS = [
  // pino looks up its caller for transports: under `--enable-source-maps` Node would read the source map of the program.
  [/[\\/]pino[\\/]lib[\\/]caller\.js$/, () => 'module.exports = () => []'],
  // NATS keeps the stack trace of each close for a message of its own: that reads the source map at each stop.
  [/[\\/]nats-core[\\/]lib[\\/]protocol\.js$/, (text) => text.replace('new Error("close trace").stack', '"closed"')],
  // The drivers of other databases: half of TypeORM.
  [new RegExp(`[\\\\/]typeorm[\\\\/]driver[\\\\/](${DRIVERS})[\\\\/]\\w+\\.js$`), NOTHING],
  // Its formatter of SQL for logs, and its search for files with entities.
  [/[\\/]@sqltools[\\/]formatter[\\/]lib[\\/]sqlFormatter\.js$/, NOTHING],
  [/[\\/]tinyglobby[\\/]dist[\\/]index\.cjs$/, NOTHING],
  // Fastify's compilers for JSON schemas, which no route has because zod checks requests, and its requests without a network.
  [/[\\/]@fastify[\\/](ajv|fast-json-stringify)-compiler[\\/]index\.js$/, NO_COMPILER],
  [/[\\/]light-my-request[\\/]index\.js$/, NOTHING],
  // The transports of Nest: the bus of this project is one of its own.
  [
    /[\\/]microservices[\\/](client|server)[\\/](client|server)-(grpc|kafka|mqtt|nats|redis|rmq|tcp)\.js$/,
    EMPTY_CLASSES,
  ],
  // All of mediasoup-client but what reads and writes SDP.
  [
    /[\\/]mediasoup-client[\\/]lib[\\/](index|Device|Transport|(Data)?(Producer|Consumer)|handlers[\\/]\w+)\.js$/,
    NOTHING,
  ],
  // The traces that prom-client adds to its metrics as exemplars, which no metric has.
  [/[\\/]@opentelemetry[\\/]api[\\/]dist[\\/]index\.cjs$/, NOTHING],
  // Error messages in forty other languages.
  [/[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/, () => "export { default as en } from './en.js'"],
]

/** Modules of mediasoup-client for its tests, for React Native and for browsers older than those of our pages. */
const OF_PAGES = [
  [/mediasoup-client[\\/]lib[\\/](handlers[\\/](FakeHandler|ReactNative106|Chrome74)|test[\\/].*)\.js$/, NOTHING],
]

/** Filters that have not matched a module yet: all of them do once all bundles are built, unless a package has moved it. */
export const unmatchedFilters = new Set([...OF_PROGRAMS, ...OF_PAGES].map(([filter]) => filter))

/** A plugin of esbuild. */
const leavesOut = (replaced) => ({
  name: 'leave-out',
  setup({ onLoad }) {
    for (const [filter, replace] of replaced)
      onLoad({ filter }, async ({ path }) => {
        unmatchedFilters.delete(filter)
        return { contents: replace(await readFile(path, 'utf8')) }
      })
  },
})

export const leaveOutOfPrograms = leavesOut(OF_PROGRAMS)
export const leaveOutOfPages = leavesOut(OF_PAGES)
