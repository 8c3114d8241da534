// The check "chart", which needs no helm: golden files are of the present sources, and every value is documented.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { undocumentedPaths } from '../generate/chart/values.mjs'
import { CHART, staleGoldens } from './goldens.mjs'

const { stale, orphans } = staleGoldens()
for (const name of stale) console.error(`stale: helm/tests/golden/${name}.yaml (run "npm run test:chart -- --update")`)
for (const file of orphans) console.error(`no values: helm/tests/golden/${file}`)
const undocumented = undocumentedPaths(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
for (const path of undocumented) console.error(`values.yaml: ${path} has no comment that begins with "# --"`)
process.exitCode = stale.length + orphans.length + undocumented.length === 0 ? 0 : 1
