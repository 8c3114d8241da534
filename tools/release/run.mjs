/**
 * Sets the version of all packages, the chart, the images and the documentation, and gives the unreleased changes of the
 * changelog to it: `node tools/release/run.mjs 1.2.3`. Then generate, update the golden files of the chart, and commit.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHANGELOG, currentVersion, OTHER_FILES, packageFiles, read, ROOT } from './files.mjs'

const [next] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(next ?? '')) {
  console.error('usage: node tools/release/run.mjs <major.minor.patch>')
  process.exit(2)
}
const former = currentVersion()
const isOwn = (name = '') => name.startsWith('@session-service/')
const write = (file, text) => writeFileSync(join(ROOT, file), text)
const writeJson = (file, value) => write(file, `${JSON.stringify(value, null, 2)}\n`)

/** Sets the version of a package and of those that it uses of this project. */
function setVersions(manifest) {
  if (manifest.version === former) manifest.version = next
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'])
    for (const name of Object.keys(manifest[kind] ?? {})) if (isOwn(name)) manifest[kind][name] = next
  return manifest
}

for (const file of packageFiles()) writeJson(file, setVersions(JSON.parse(read(file))))
const lock = JSON.parse(read('package-lock.json'))
lock.version = next
for (const [path, entry] of Object.entries(lock.packages)) if (!path.includes('node_modules/')) setVersions(entry)
writeJson('package-lock.json', lock)
for (const file of OTHER_FILES) write(file, read(file).replaceAll(former, next))
// oxlint-disable-next-line clock/no-wall-clock -- a release has the date of the day
const today = new Date().toISOString().slice(0, 10)
write(CHANGELOG, read(CHANGELOG).replace(/^## Unreleased$/m, `## Unreleased\n\n## ${next} - ${today}`))
