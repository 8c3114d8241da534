import type { Container, Pod } from '../control-plane/objects.js'

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** The kubelet's data of a pod beside its object. Addresses are those on loopback. */
export interface PodPlace {
  nodeName: string
  podIP: string
  hostIP: string
  capacity: Readonly<Record<string, string>>
}

/** The number of a quantity of Kubernetes, such as 500m, 2Gi or 3. @throws Error when the text is none */
export function quantity(text: string): number {
  const [, number, unit] = /^([\d.]+)(m|[kMGT]i?|)$/.exec(text) ?? []
  const factor = UNITS[unit ?? '?']
  if (number === undefined || factor === undefined) throw new Error(`${text} is no quantity`)
  return Number(number) * factor
}

/** The value of a field of the downward API. @throws Error for a field that it does not have */
export function fieldValue({ metadata, spec }: Pod, path: string, place: PodPlace): string {
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? []
  if (key !== undefined) return (map === 'labels' ? metadata.labels : metadata.annotations)[key] ?? ''
  const fields: Readonly<Record<string, () => string>> = {
    'metadata.name': () => metadata.name,
    'metadata.namespace': () => metadata.namespace,
    'metadata.uid': () => metadata.uid,
    'metadata.labels': () => lines(metadata.labels),
    'metadata.annotations': () => lines(metadata.annotations),
    'spec.nodeName': () => place.nodeName,
    'spec.serviceAccountName': () => spec.serviceAccountName,
    'status.podIP': () => place.podIP,
    'status.podIPs': () => place.podIP,
    'status.hostIP': () => place.hostIP,
    'status.hostIPs': () => place.hostIP,
  }
  const read = fields[path]
  if (!read) throw new Error(`the downward API has no field ${path}`)
  return read()
}

const lines = (texts: Readonly<Record<string, string>>): string =>
  Object.entries(texts)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .toSorted()
    .join('\n')

/** The value of a resource field, such as limits.memory; without a limit it is that of the node. */
export function resourceValue(
  { resources }: Pick<Container, 'resources'>,
  { resource, divisor }: { resource: string; divisor: string },
  place: PodPlace,
): string {
  const [, kind, name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? []
  const own = kind === 'requests' ? resources.requests[name] : resources.limits[name]
  const given = own ?? place.capacity[name] ?? '0'
  return String(Math.ceil(quantity(given) / (quantity(divisor) || 1)))
}
