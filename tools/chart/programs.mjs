// Finds helm, kubeconform and the schemas of Kubernetes, or builds them from Go modules.
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheRoot } from '../bootstrap/cache.mjs'
import { which } from '../bootstrap/exec.mjs'

const MODULES = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
}
/** Version of the API that the chart is rendered for and checked against. */
export const KUBERNETES = '1.34.4'
const KUBERNETES_MODULE = `k8s.io/kubernetes@v${KUBERNETES}`

export const run = promisify(execFile)
export const toolsFolder = () => join(cacheRoot(process.env, homedir()), 'kubernetes-tools')

/** Path of a program: in KUBERNETES_BIN, in the cache, or in PATH; undefined when it is in none. */
export function findProgram(name) {
  const folders = [process.env.KUBERNETES_BIN, toolsFolder()].filter(Boolean)
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? which(name)
}

/** Builds a program into the cache; takes about a minute for each, and some hundred megabytes of Go modules. */
export async function buildProgram(name) {
  const go = which('go')
  if (!go) throw new Error(`${name}: not found, and no go to build it with`)
  mkdirSync(toolsFolder(), { recursive: true })
  console.log(`building ${MODULES[name]} with go`)
  await run(go, ['install', MODULES[name]], { env: { ...process.env, GOBIN: toolsFolder() }, maxBuffer: 2 ** 26 })
  return join(toolsFolder(), name)
}

/** Path of the OpenAPI document of Kubernetes, which its Go module contains; undefined when it is not here. */
export async function findOpenApi({ download }) {
  const go = which('go')
  if (!go) return undefined
  const { stdout } = await run(go, ['env', 'GOMODCACHE'])
  const path = join(stdout.trim(), KUBERNETES_MODULE, 'api/openapi-spec/swagger.json')
  if (existsSync(path)) return path
  const [similar] = globSync(join(stdout.trim(), 'k8s.io/kubernetes@v1.*/api/openapi-spec/swagger.json'))
  if (similar) return similar
  if (!download) return undefined
  console.log(`downloading ${KUBERNETES_MODULE}, about 100 MB`)
  await run(go, ['mod', 'download', KUBERNETES_MODULE], { maxBuffer: 2 ** 26 })
  return path
}
