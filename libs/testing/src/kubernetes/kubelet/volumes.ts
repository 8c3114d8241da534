import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DownwardItem, Pod, Volume } from '../control-plane/objects.js'
import { MissingReference, type ReadData } from './environment.js'
import { type Mount, translatePaths } from './paths.js'
import { fieldValue, type PodPlace, resourceValue } from './fields.js'

export interface VolumeSources {
  read: ReadData
  /** The folder of a bound claim; undefined before it is bound. */
  claimFolder: (name: string) => Promise<string | undefined>
  token: (audience: string | undefined) => Promise<string>
}

type Files = Readonly<Record<string, string>>

/**
 * Prepares the folders of the pod's volumes below `root` and returns them by name.
 * @throws MissingReference for an object that does not exist yet
 */
export async function prepareVolumes(
  pod: Pod,
  place: PodPlace,
  root: string,
  sources: VolumeSources,
): Promise<Map<string, string>> {
  const folders = new Map<string, string>()
  for (const volume of pod.spec.volumes) folders.set(volume.name, await prepare(pod, volume, { place, root, sources }))
  return folders
}

async function prepare(
  pod: Pod,
  volume: Volume,
  { place, root, sources }: { place: PodPlace; root: string; sources: VolumeSources },
): Promise<string> {
  const claimName =
    volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${pod.metadata.name}-${volume.name}`)
  if (claimName !== undefined) {
    const bound = await sources.claimFolder(claimName)
    if (bound === undefined) throw new MissingReference(`persistentvolumeclaim "${claimName}" is not bound`)
    return bound
  }
  const folder = join(root, volume.name)
  mkdirSync(folder, { recursive: true })
  writeFiles(folder, await filesOf(pod, volume, { place, sources }))
  return folder
}

/** Configuration files name folders of the pod too, for example that of a file with the process id. */
export function translateConfigMaps(pod: Pod, folders: ReadonlyMap<string, string>, mounts: readonly Mount[]): void {
  for (const { name, configMap } of pod.spec.volumes) {
    const folder = folders.get(name)
    if (!configMap || folder === undefined) continue
    for (const file of readdirSync(folder))
      writeFiles(folder, { [file]: translatePaths(readFileSync(join(folder, file), 'utf8'), mounts) })
  }
}

/** Writes the fields that may change while the pod runs: labels and annotations. */
export function refreshDownward(pod: Pod, place: PodPlace, folders: ReadonlyMap<string, string>): void {
  for (const { name, downwardAPI, projected } of pod.spec.volumes) {
    const folder = folders.get(name)
    const items = [downwardAPI, ...(projected?.sources.map((each) => each.downwardAPI) ?? [])]
    if (folder !== undefined) for (const each of items) if (each) writeFiles(folder, downward(pod, each.items, place))
  }
}

async function filesOf(
  pod: Pod,
  { configMap, secret, downwardAPI, projected }: Volume,
  context: { place: PodPlace; sources: VolumeSources },
): Promise<Files> {
  const { place, sources } = context
  if (configMap) return dataFiles('configmaps', configMap, sources.read)
  if (secret) return dataFiles('secrets', { ...secret, name: secret.secretName }, sources.read)
  if (downwardAPI) return downward(pod, downwardAPI.items, place)
  let files: Files = {}
  for (const each of projected?.sources ?? []) {
    files = { ...files, ...(await filesOf(pod, projectedSource(each), context)) }
    const token = each.serviceAccountToken
    if (token) files = { ...files, [token.path]: await sources.token(token.audience) }
  }
  return files
}

type Projected = NonNullable<Volume['projected']>['sources'][number]
const projectedSource = ({ configMap, secret, downwardAPI }: Projected): Volume => ({
  name: '',
  configMap,
  downwardAPI,
  ...(secret && { secret: { ...secret, secretName: secret.name } }),
})

async function dataFiles(
  kind: 'configmaps' | 'secrets',
  { name, items, optional }: { name: string; items?: { key: string; path: string }[] | undefined; optional: boolean },
  read: ReadData,
): Promise<Files> {
  const data = await read(kind, name)
  if (!data && !optional)
    throw new MissingReference(`${kind === 'secrets' ? 'secret' : 'configmap'} "${name}" not found`)
  if (!items) return data ?? {}
  return Object.fromEntries(
    items.map(({ key, path }) => {
      const value = data?.[key]
      if (value === undefined) throw new MissingReference(`"${name}" has no key "${key}"`)
      return [path, value]
    }),
  )
}

const downward = (pod: Pod, items: readonly DownwardItem[], place: PodPlace): Files =>
  Object.fromEntries(
    items.map(({ path, fieldRef, resourceFieldRef }) => {
      if (fieldRef) return [path, fieldValue(pod, fieldRef.fieldPath, place)]
      const of =
        pod.spec.containers.find(({ name }) => name === resourceFieldRef?.containerName) ?? pod.spec.containers[0]
      return [path, of && resourceFieldRef ? resourceValue(of, resourceFieldRef, place) : '']
    }),
  )

/** Each file is replaced atomically: a program that reads it never gets a part. */
function writeFiles(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
}

export const removeVolumes = (root: string): void => rmSync(root, { recursive: true, force: true })
