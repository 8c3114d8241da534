// The golden output of helm template for each set of values, and the hash by which a stale one is found without helm.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { digest, listFiles } from '../bootstrap/cache.mjs'
import { KUBERNETES, run } from './programs.mjs'

export const ROOT = resolve(import.meta.dirname, '../..')
export const CHART = join(ROOT, 'helm/session-service')
const TESTS = join(ROOT, 'helm/tests')
/** Generated from other files: they do not change what helm renders. */
const WITHOUT_EFFECT = ['README.md', 'values.schema.json']

const casesIn = (folder) =>
  readdirSync(join(TESTS, folder))
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => ({ name: basename(file, '.yaml'), values: join(TESTS, folder, file) }))

export const goldenCases = () => casesIn('values').map((each) => ({ ...each, golden: goldenFile(each.name) }))

/** Value sets that helm must reject; the first line of each contains the message. */
export const rejectedCases = () =>
  casesIn('rejected').map((each) => {
    const [, message] = /^# rejected: (.+)$/m.exec(readFileSync(each.values, 'utf8')) ?? []
    return { ...each, message }
  })

const goldenFile = (name) => join(TESTS, 'golden', `${name}.yaml`)

/** Hash of everything from which a golden file is rendered. */
export function sourceHash(values) {
  const files = listFiles(CHART).filter((file) => !WITHOUT_EFFECT.includes(relative(CHART, file)))
  const parts = files.flatMap((file) => [relative(CHART, file), readFileSync(file)])
  return digest(...parts, readFileSync(values))
}

/** The YAML of a value set. helm asks no cluster. */
export async function render(helm, values, options = []) {
  const args = ['template', 'calls', CHART, '--namespace', 'conference', '--kube-version', KUBERNETES]
  const { stdout } = await run(helm, [...args, '--values', values, ...options], { maxBuffer: 2 ** 26 })
  return stdout
}

/** As base64: 32 characters with a leading s, or 41 with a leading r, which are derived from them. */
const GENERATED = /(: )c(?:[A-Za-z0-9+/]{42}|[A-Za-z0-9+/]{54})=$/gm

/** Replaces what differs between two renderings: generated secrets, and checksums of them. */
export function withoutRandomParts(yaml) {
  const replaced = yaml.replaceAll(GENERATED, '$1(generated)')
  if (replaced === yaml) return yaml
  return replaced.replaceAll(/(checksum\/secrets: |content-hash: )\w{64}/g, '$1(of generated secrets)')
}

const header = (hash) => `# Rendered by "npm run test:chart -- --update" from sources with the hash ${hash}.\n`

export const goldenText = (yaml, values) => header(sourceHash(values)) + withoutRandomParts(yaml)
export const writeGolden = ({ golden, values }, yaml) => writeFileSync(golden, goldenText(yaml, values))
export const readGolden = ({ golden }) => (existsSync(golden) ? readFileSync(golden, 'utf8') : undefined)

/** The names of cases whose golden file is missing or of other sources, and of files without a case. */
export function staleGoldens() {
  const cases = goldenCases()
  const stale = cases.filter((each) => !readGolden(each)?.startsWith(header(sourceHash(each.values))))
  const known = new Set(cases.map(({ name }) => name))
  const orphans = readdirSync(join(TESTS, 'golden')).filter((file) => !known.has(basename(file, '.yaml')))
  return { stale: stale.map(({ name }) => name), orphans }
}
