import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')
export const CHANGELOG = 'CHANGELOG.md'

/** Files that name the version of the product, besides package.json, package-lock.json and CHANGELOG.md. */
export const OTHER_FILES = [
  'apps/dashboard/src/dashboard.browser.test.ts',
  'apps/master/src/autoscaling/kubernetes-driver.kubernetes.test.ts',
  'apps/master/src/media-nodes/drivers/kubernetes/kubernetes.driver.kubernetes.test.ts',
  'deploy/compose.yaml',
  'deploy/images/Dockerfile',
  'docs/deploy/laptop.md',
  'helm/session-service/Chart.yaml',
  ...globSync('helm/session-service/charts/*/Chart.yaml', { cwd: ROOT }),
  'libs/contract/src/rest-api/examples.ts',
  'libs/testing/src/kubernetes/cluster.kubernetes.test.ts',
]

export const packageFiles = () =>
  globSync(['package.json', 'bench/package.json', '{apps,libs,tools}/*/package.json'], { cwd: ROOT })

export const read = (file) => readFileSync(join(ROOT, file), 'utf8')

/** The version in force. */
export const currentVersion = () => JSON.parse(read('package.json')).version
