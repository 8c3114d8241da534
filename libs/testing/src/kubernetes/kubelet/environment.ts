import type { Container, EnvVar, Pod } from '../control-plane/objects.js'
import { expand } from './expand.js'
import { fieldValue, type PodPlace, resourceValue } from './fields.js'

/** Reads a ConfigMap or a Secret of the pod's namespace; undefined when it does not exist. */
export type ReadData = (kind: 'configmaps' | 'secrets', name: string) => Promise<Record<string, string> | undefined>

/** A reference to an object or a key that does not exist: the container waits for it. */
export class MissingReference extends Error {
  override readonly name = 'MissingReference'
}

/** The variables of a container in order: those of envFrom, then of env, in which `$(NAME)` names earlier ones. */
export async function environmentOf(
  pod: Pod,
  container: Container,
  place: PodPlace,
  read: ReadData,
): Promise<Map<string, string>> {
  const variables = new Map<string, string>()
  for (const { prefix, configMapRef, secretRef } of container.envFrom) {
    const ref = configMapRef ?? secretRef
    if (!ref) continue
    const data = await read(configMapRef ? 'configmaps' : 'secrets', ref.name)
    if (!data && !ref.optional)
      throw new MissingReference(`${configMapRef ? 'configmap' : 'secret'} "${ref.name}" not found`)
    for (const [key, value] of Object.entries(data ?? {})) variables.set(prefix + key, value)
  }
  for (const each of container.env) {
    const value = each.valueFrom
      ? await referenced(pod, container, each, { place, read })
      : expand(each.value ?? '', variables)
    if (value !== undefined) variables.set(each.name, value)
  }
  return variables
}

async function referenced(
  pod: Pod,
  container: Container,
  { valueFrom }: EnvVar,
  { place, read }: { place: PodPlace; read: ReadData },
): Promise<string | undefined> {
  if (valueFrom?.fieldRef) return fieldValue(pod, valueFrom.fieldRef.fieldPath, place)
  if (valueFrom?.resourceFieldRef) {
    const of = pod.spec.containers.find(({ name }) => name === valueFrom.resourceFieldRef?.containerName) ?? container
    return resourceValue(of, valueFrom.resourceFieldRef, place)
  }
  const [kind, ref] = valueFrom?.configMapKeyRef
    ? (['configmaps', valueFrom.configMapKeyRef] as const)
    : (['secrets', valueFrom?.secretKeyRef] as const)
  if (!ref) return undefined
  const value = (await read(kind, ref.name))?.[ref.key]
  if (value === undefined && !ref.optional)
    throw new MissingReference(
      `key "${ref.key}" not found in the ${kind === 'secrets' ? 'secret' : 'configmap'} "${ref.name}"`,
    )
  return value
}
