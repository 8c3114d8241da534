// Writes the files generated from the tables of configuration properties, REST routes, bus permissions, dashboards and
// alerts, and from the values of the chart: node tools/generate/run.mjs [--check]
// With --check it writes nothing, prints the stale files and exits with 1. Needs the libraries below to be built.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { configurationPage, environmentExample } from './configuration.mjs'
import { chartReadme } from './chart/readme.mjs'
import { valuesSchema } from './chart/schema.mjs'
import { observabilityFiles } from '../observability/files.mjs'
import { chartAuthorization, composeAuthorization } from './nats.mjs'
import { restApiPage } from './rest-api.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const TABLE = join(ROOT, 'libs/config/dist/index.js')

const REST_API = join(ROOT, 'libs/contract/dist/rest-api/index.js')
const NATS_USERS = join(ROOT, 'libs/local-stack/dist/nats/nats-users.js')
const CHART = 'helm/session-service'

if (![TABLE, REST_API, NATS_USERS].every((file) => existsSync(file))) {
  console.error('not built: run "tsc -b libs/config libs/contract libs/local-stack" first')
  process.exit(2)
}
const { SECTIONS, configurationSchema, restartSchema } = await import(TABLE)
const { openApiDocument } = await import(REST_API)
const natsUsers = await import(NATS_USERS)
const { version } = JSON.parse(readFileSync(join(ROOT, 'apps/master/package.json'), 'utf8'))
const configuration = { view: configurationSchema(), restart: restartSchema() }
const openApi = openApiDocument(version, configuration)
const values = readFileSync(join(ROOT, CHART, 'values.yaml'), 'utf8')
const introduction = readFileSync(join(import.meta.dirname, 'chart/introduction.md'), 'utf8')
const FILES = {
  'docs/configuration.md': configurationPage(SECTIONS),
  '.env.example': environmentExample(SECTIONS),
  'docs/api/openapi.json': `${JSON.stringify(openApi, null, 2)}\n`,
  'docs/rest-api.md': restApiPage(openApi),
  [`${CHART}/values.schema.json`]: `${JSON.stringify(valuesSchema(values, SECTIONS), null, 2)}\n`,
  [`${CHART}/README.md`]: chartReadme(introduction, values, SECTIONS),
  [`${CHART}/charts/nats/files/authorization.conf`]: chartAuthorization(natsUsers),
  'deploy/compose/nats.conf': composeAuthorization(natsUsers),
  ...observabilityFiles(CHART),
}

const contentOf = (file) => (existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : undefined)
const stale = Object.entries(FILES).filter(([file, content]) => contentOf(file) !== content)

if (process.argv.includes('--check')) {
  for (const [file] of stale) console.error(`stale: ${file} (run "npm run generate")`)
  process.exit(stale.length === 0 ? 0 : 1)
}
for (const [file, content] of stale) {
  mkdirSync(dirname(join(ROOT, file)), { recursive: true })
  writeFileSync(join(ROOT, file), content)
  console.log(`written: ${file}`)
}
