import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHANGELOG, currentVersion, OTHER_FILES, packageFiles, read } from './files.mjs'

const version = currentVersion()

test('all packages and their dependencies on one another have the version of the product', () => {
  for (const file of packageFiles()) {
    const { version: own = version, dependencies = {}, devDependencies = {} } = JSON.parse(read(file))
    const used = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
      name.startsWith('@session-service/'),
    )
    assert.deepEqual([...new Set([own, ...used.map(([, each]) => each)])], [version], file)
  }
})

test('the chart, the images and the documentation name the version of the product', () => {
  for (const file of OTHER_FILES) assert.ok(read(file).includes(version), `${file} does not name ${version}`)
})

test('the changelog describes the version of the product', () => {
  assert.ok(read(CHANGELOG).includes(`\n## ${version} - `))
})
