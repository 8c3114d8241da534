// Bundles, built after `tsc -b`: for browsers the client library as one ESM file, a variant for recorded pages, and the
// pages of playground and dashboard; for Node the programs of master, media node and playground.
// node tools/build-bundles.mjs [client|dashboard|playground|master|media-node …]; without names all of them.
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { leaveOutOfPages, unmatchedFilters } from './bundles/left-out.mjs'
import { bundleProgram } from './bundles/programs.mjs'
import { rollTypes } from './bundles/roll-types.mjs'
import { shakeZod } from './bundles/shaken.mjs'
import { withoutJsonSchema } from './bundles/without-json-schema.mjs'

const root = join(import.meta.dirname, '..')
const path = (relative) => join(root, relative)

const shared = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  // Browsers of 2023 and later.
  target: ['es2022'],
  minify: true,
  sourcemap: true,
  // Source maps name sources relative to the project, without paths of this machine.
  sourcesContent: true,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [shakeZod(/[\\/]libs[\\/](contract|client)[\\/]dist[\\/].*\.js$/), leaveOutOfPages, withoutJsonSchema],
}

/** Writes compressed copies beside the file, for servers that negotiate `Accept-Encoding`. */
function compress(relative) {
  const bytes = readFileSync(path(relative))
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(path(`${relative}.gz`), gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }))
  writeFileSync(path(`${relative}.br`), brotliCompressSync(bytes, { params }))
}

const program =
  (app, main = 'main.js') =>
  async () => {
    const outdir = `apps/${app}/dist/bundle`
    await bundleProgram(root, path(`apps/${app}/dist/${main}`), path(outdir))
    return [`${outdir}/main.js`]
  }

/** The bundles, in the order of their dependencies. */
const BUNDLES = {
  client: async () => {
    const outfile = 'libs/client/dist/bundle/session-client.js'
    const recorder = 'libs/client/dist/bundle/recorder.js'
    await build({ ...shared, entryPoints: ['libs/client/dist/bundle.js'], outfile })
    await build({ ...shared, entryPoints: ['libs/client/dist/recorder-bundle.js'], outfile: recorder })
    const types = 'libs/client/dist/bundle/session-client.d.ts'
    rollTypes(path('libs/client/dist/index.d.ts'), path(types))
    for (const file of [outfile, types]) compress(file)
    return [outfile, recorder]
  },
  dashboard: async () => {
    const from = 'apps/dashboard/src'
    const outdir = 'apps/dashboard/dist/public'
    mkdirSync(path(outdir), { recursive: true })
    await build({ ...shared, entryPoints: ['apps/dashboard/dist/main.js'], outfile: `${outdir}/page.js` })
    await build({ ...shared, entryPoints: [`${from}/css/page.css`], outfile: `${outdir}/page.css` })
    for (const file of ['index.html', 'icon.svg']) cpSync(path(`${from}/${file}`), path(`${outdir}/${file}`))
    for (const file of ['page.js', 'page.css', 'index.html', 'icon.svg']) compress(`${outdir}/${file}`)
    return [`${outdir}/page.js`, `${outdir}/page.css`]
  },
  playground: async () => {
    const outdir = 'apps/playground/dist/public'
    mkdirSync(path(outdir), { recursive: true })
    await build({ ...shared, entryPoints: ['apps/playground/dist/page/main.js'], outfile: `${outdir}/page.js` })
    await build({ ...shared, entryPoints: ['apps/playground/src/page/css/page.css'], outfile: `${outdir}/page.css` })
    for (const file of ['index.html', 'icon.svg'])
      cpSync(path(`apps/playground/src/page/${file}`), path(`${outdir}/${file}`))
    return [`${outdir}/page.js`, `${outdir}/page.css`, ...(await program('playground', 'server/main.js')())]
  },
  master: program('master'),
  'media-node': program('media-node'),
}

const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} kB`
const report = (file) => {
  const zipped = gzipSync(readFileSync(path(file))).length
  console.log(`${file.padEnd(52)} ${kilobytes(statSync(path(file)).size).padStart(9)}, gzip ${kilobytes(zipped)}`)
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in BUNDLES))
if (unknown.length > 0) {
  console.error(`unknown bundle ${unknown.join(', ')}: there are ${Object.keys(BUNDLES).join(', ')}`)
  process.exit(2)
}
for (const [name, make] of Object.entries(BUNDLES)) {
  if (wanted.length === 0 || wanted.includes(name)) (await make()).forEach(report)
}
if (wanted.length === 0 && unmatchedFilters.size > 0) {
  console.error(`tools/bundles/left-out.mjs: no module matches ${[...unmatchedFilters].join(', ')}`)
  process.exit(1)
}
