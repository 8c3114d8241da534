// Bundles of the server's programs: one file each instead of 2,000, which starts in a third of the CPU time and takes less memory.
import { readFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { build } from 'esbuild'

/**
 * Packages that stay outside: those with native code or files of their own, those that others load by name at run time
 * (two copies of `pg` would not share their type parsers), and optional ones of Nest and TypeORM that are not installed.
 */
const EXTERNAL = [
  ...['koffi', 'mediasoup', 'pg', 'pg-*', 'sherpa-onnx-node', 'swagger-ui-dist', 'typescript'],
  ...['@fastify/multipart', '@fastify/view', '@grpc/*', '@nestjs/websockets', '@nestjs/platform-express'],
  ...['@nestjs/mongoose', '@nestjs/sequelize', '@mikro-orm/*', 'class-transformer', 'class-validator', 'pino-pretty'],
  ...['@google-cloud/*', '@sap/*', 'amqp*', 'better-sqlite3', 'hdb-pool', 'ioredis', 'kafkajs', 'mongodb', 'mqtt'],
  ...['mssql', 'mysql*', 'oracledb', 'react-native-sqlite-storage', 'redis', 'sequelize', 'sql.js', 'sqlite3'],
  'typeorm-aurora-data-api-driver',
]

const PACKAGES = /[\\/]node_modules[\\/].*\.[cm]?js$/
/** A source map with one line: stack traces need the lines of our code only, and a map of all packages takes 6 MB. */
const NO_MAP =
  '\n//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIj8iXSwibWFwcGluZ3MiOiJBQUFBIn0='
/** CommonJS packages in an ES module. */
const REQUIRE =
  "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);"

/** Keeps `import.meta` of our modules what it is in their own files, beside which they look for others. */
const keepLocations = (outdir) => ({
  name: 'keep-locations',
  setup({ onLoad }) {
    onLoad({ filter: PACKAGES }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/\n\/\/# sourceMappingURL=.*\s*$/, '') + NO_MAP,
    }))
    onLoad({ filter: /[\\/]dist[\\/].*\.js$/ }, async ({ path }) => {
      const here = JSON.stringify(`./${relative(outdir, path)}`)
      const folder = JSON.stringify(`./${relative(outdir, dirname(path))}/`)
      const contents = await readFile(path, 'utf8')
      return {
        contents: contents
          .replaceAll('import.meta.url', `new URL(${here}, import.meta.url).href`)
          .replaceAll('import.meta.dirname', `new URL(${folder}, import.meta.url).pathname.slice(0, -1)`),
      }
    })
  },
})

/** Bundles `entry` into `outfile`, absolute paths both. */
export async function bundleProgram(root, entry, outfile) {
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Nest and TypeORM show and compare the names of classes.
    keepNames: true,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    external: EXTERNAL,
    banner: { js: REQUIRE },
    plugins: [keepLocations(dirname(outfile))],
  })
}
