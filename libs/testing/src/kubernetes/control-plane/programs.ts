import { delimiter, join } from 'node:path'
import { isProgram } from '@session-service/local-stack'

/** The paths of the programs of a control plane. */
export interface KubernetesPrograms {
  etcd: string
  apiServer: string
  controllerManager: string
  scheduler: string
  helm: string
}

const NAMES: Readonly<Record<keyof KubernetesPrograms, string>> = {
  etcd: 'etcd',
  apiServer: 'kube-apiserver',
  controllerManager: 'kube-controller-manager',
  scheduler: 'kube-scheduler',
  helm: 'helm',
}

/** From the folder KUBERNETES_BIN, or from the PATH. `npm run test:kubernetes` sets the variable. */
export function requirePrograms(env: NodeJS.ProcessEnv = process.env): KubernetesPrograms {
  const folders = [env.KUBERNETES_BIN ?? '', ...(env.PATH ?? '').split(delimiter)].filter(Boolean)
  const found = Object.entries(NAMES).map(([key, name]) => [key, findProgram(name, folders)] as const)
  const missing = found.flatMap(([key, path]) => (path === undefined ? [NAMES[key as keyof KubernetesPrograms]] : []))
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')} not found: "npm run test:kubernetes -- --install" prepares them`)
  return Object.fromEntries(found) as unknown as KubernetesPrograms
}

const findProgram = (name: string, folders: readonly string[]): string | undefined =>
  folders.map((folder) => join(folder, name)).find(isProgram)
