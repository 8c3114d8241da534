// Bundles of the server's programs: our modules in one file and their packages in a few, instead of 2,000, which starts in a
// third of the CPU time and takes less memory.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { build } from 'esbuild'
import { leaveOutOfPrograms } from './left-out.mjs'
import { lazyRequires } from './lazy-requires.mjs'
import { lightHttp } from './light-http.mjs'
import { lineMap } from './line-map.mjs'
import { leaveOutNamesOfFunctions } from './names-of-functions.mjs'
import { importedNames, namespaceOfZod, shakeRxjs } from './shaken.mjs'

/**
 * Packages that stay outside: those with native code or files of their own, those that others load by name at run time
 * (two copies of `pg` would not share their type parsers), and optional ones of Nest and TypeORM that are not installed.
 */
export const EXTERNAL = [
  ...['koffi', 'pg', 'pg-*', 'reflect-metadata', 'sherpa-onnx-node', 'swagger-ui-dist', 'typescript'],
  ...['@fastify/multipart', '@fastify/view', '@grpc/*', '@nestjs/websockets', '@nestjs/platform-express'],
  ...['@nestjs/mongoose', '@nestjs/sequelize', '@mikro-orm/*', 'class-transformer', 'class-validator', 'pino-pretty'],
  ...['@google-cloud/*', '@sap/*', 'amqp*', 'better-sqlite3', 'hdb-pool', 'ioredis', 'kafkajs', 'mongodb', 'mqtt'],
  ...['mssql', 'mysql*', 'oracledb', 'react-native-sqlite-storage', 'redis', 'sequelize', 'sql.js', 'sqlite3'],
  'typeorm-aurora-data-api-driver',
]

const PACKAGES = /[\\/]node_modules[\\/].*\.[cm]?js$/
/** For CommonJS packages in an ES module. */
const REQUIRE =
  "import { createRequire as createRequireOf } from 'node:module';" +
  'const require = createRequireOf(import.meta.url), __dirname = import.meta.dirname;'
const METADATA = 'reflect-metadata'
/** Metadata is needed before the first decorator, and chunks have no order; programs without decorators do not import it. */
const bannerOf = ({ inputs }) => {
  const usesMetadata = Object.values(inputs).some(({ imports }) => imports.some(({ path }) => path === METADATA))
  return usesMetadata ? `${REQUIRE}\nimport '${METADATA}';` : REQUIRE
}

/** Keeps `import.meta` of our modules what it is in their own files, beside which they look for others. */
const keepLocations = (outdir) => ({
  name: 'keep-locations',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[\\/].*\.js$/ }, async ({ path }) => {
      const here = JSON.stringify(`./${relative(outdir, path)}`)
      const folder = JSON.stringify(relative(outdir, dirname(path)))
      const contents = await readFile(path, 'utf8')
      return {
        contents: namespaceOfZod(contents)
          .replaceAll('import.meta.url', `new URL(${here}, import.meta.url).href`)
          .replaceAll(
            'import.meta.dirname',
            `process.getBuiltinModule('node:path').join(import.meta.dirname, ${folder})`,
          ),
      }
    })
  },
})

/** An entry that exports what our modules import, so that esbuild puts the packages into chunks of their own. */
const exportPackages = (packages) => ({
  name: 'export-packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^packages$/ }, ({ path }) => ({ path, namespace: path }))
    onLoad({ filter: /.*/, namespace: 'packages' }, () => ({
      contents: [...packages].map(([file, names], index) => exportOf(file, names, `package${index}`)).join('\n'),
      resolveDir: dirname([...packages.keys()][0] ?? '/'),
    }))
  },
})

function exportOf(file, names, prefix) {
  const what = names.has('*')
    ? `* as ${prefix}`
    : `{ ${[...names].map((name) => `${name} as ${prefix}_${name}`).join(', ')} }`
  return `export ${what} from ${JSON.stringify(file)}`
}

/** The names that our modules import, by the file of the package, absolute. `*`: all that it exports. */
async function importedPackages(root, { inputs }) {
  const found = new Map()
  for (const [path, { imports }] of Object.entries(inputs)) {
    if (PACKAGES.test(`/${path}`) || !path.endsWith('.js')) continue
    const names = importedNames(namespaceOfZod(await readFile(join(root, path), 'utf8')))
    for (const { path: file, original, external } of imports) {
      if (external || !PACKAGES.test(`/${file}`)) continue
      const used = (inputs[file].format === 'esm' && names.get(original)) || ['*']
      const absolute = join(root, file)
      found.set(absolute, new Set([...(found.get(absolute) ?? []), ...used]))
    }
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)))
}

/**
 * Source maps of packages are dropped: stack traces need the lines of our code, and Node reads each map, and the lengths
 * of all lines that it describes, at the start.
 */
function dropMapsOfPackages(files) {
  for (const path of files) {
    if (!basename(path).startsWith('packages')) continue
    if (path.endsWith('.map')) rmSync(path)
    else writeFileSync(path, readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'))
  }
}

/**
 * Node keeps a text with a single character beyond ASCII in two bytes for each character: 4 MiB for one in a regular
 * expression, where esbuild leaves it.
 */
const escapeBeyondAscii = (code) =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Bundles `entry` into `main.js` in the folder `outdir`, beside chunks with its packages. Absolute paths. */
export async function bundleProgram(root, entry, outdir) {
  rmSync(outdir, { recursive: true, force: true })
  const options = {
    absWorkingDir: root,
    outdir,
    bundle: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Nest and TypeORM show and compare the names of classes.
    keepNames: true,
    legalComments: 'none',
    // Node keeps the text in memory.
    minifyWhitespace: true,
    lineLimit: 200,
    logLevel: 'warning',
    external: EXTERNAL,
  }
  const plugins = [keepLocations(outdir), leaveOutOfPrograms, lightHttp, lazyRequires, shakeRxjs(root)]
  const { metafile } = await build({ ...options, entryPoints: [entry], plugins, write: false })
  const { metafile: written } = await build({
    ...options,
    banner: { js: bannerOf(metafile) },
    entryPoints: { main: entry, packages: 'packages' },
    chunkNames: 'packages-[hash]',
    splitting: true,
    sourcemap: true,
    sourcesContent: false,
    plugins: [...plugins, exportPackages(await importedPackages(root, metafile))],
  })
  const files = Object.keys(written.outputs).map((path) => join(root, path))
  dropMapsOfPackages(files)
  for (const path of files) {
    if (!path.endsWith('.js')) continue
    writeFileSync(path, escapeBeyondAscii(leaveOutNamesOfFunctions(readFileSync(path, 'utf8'))))
  }
  const map = join(outdir, 'main.js.map')
  writeFileSync(map, JSON.stringify(lineMap(JSON.parse(readFileSync(map, 'utf8')))))
}
