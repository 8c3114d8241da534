import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { cacheRoot } from '../bootstrap/cache.mjs'
import { isExecutable, which } from '../bootstrap/exec.mjs'

/** Versions of what is built: those of the reference rig, and the newest of helm and kubeconform that were tried with it. */
export const KUBERNETES = '1.34.4'
export const HELM = '3.22.0'
export const KUBECONFORM = '0.8.0'

/** The programs that the tests of the kind "kubernetes" need; kubeconform judges the chart's output. */
export const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'helm', 'kubeconform']

export const HOW = '"npm run test:kubernetes" builds them (about half an hour on two cores, once)'

/** The folder of the cache for programs that are built here. */
export const programsFolder = (env, platform = `${process.platform}-${process.arch}`) =>
  join(cacheRoot(env, homedir()), `kubernetes-${KUBERNETES}-${platform}`)

/** Finds the programs in the folder KUBERNETES_BIN, the cache and the PATH: `{ found: { name: path }, missing }`. */
export function findPrograms(env, find = which) {
  const folders = [env.KUBERNETES_BIN, programsFolder(env)].filter(Boolean)
  const locate = (name) => folders.map((folder) => join(folder, name)).find(isExecutable) ?? find(name, env)
  const entries = NEEDED.map((name) => [name, locate(name)])
  return {
    found: Object.fromEntries(entries.filter(([, path]) => path !== undefined)),
    missing: entries.filter(([, path]) => path === undefined).map(([name]) => name),
  }
}

/** The line for a run that leaves these tests out; undefined when nothing is missing. */
export function missingLine({ missing }) {
  if (missing.length === 0) return undefined
  return `the Kubernetes tests are left out, ${missing.join(', ')} not found: ${HOW}`
}

/** The environment of the tests, which look for the programs in KUBERNETES_BIN and in PATH. */
export const testEnvironment = (env, { found }) => ({
  ...env,
  PATH: [...new Set([env.PATH, ...Object.values(found).map(dirname)])].filter(Boolean).join(delimiter),
})
