// Loaded by the Node programs of pods (--import): resolves the names of services and pods, as the DNS of a cluster does,
// and measures the program's own load.
// RIG_HOSTS names the file that the rig keeps up to date; RIG_NAMESPACE and RIG_POD_ADDRESS are those of the pod.
import dns, { type LookupAddress } from 'node:dns'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { ownProcessors } from './own-processors.js'

const file = process.env.RIG_HOSTS ?? ''
const namespace = process.env.RIG_NAMESPACE ?? 'default'
const podAddress = process.env.RIG_POD_ADDRESS
/** A name without a namespace is one of the pod's own. */
const SUFFIXES = ['', `.${namespace}`]

/** The addresses of a name of the cluster; undefined for any other name. */
function known(name: string): string[] | undefined {
  // Each pod has its own loopback interface; here that is its address.
  if (name === 'localhost' && podAddress !== undefined) return [podAddress]
  const names = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string[]>
  const plain = name.replace(/\.$/, '').replace(/\.svc(\.cluster\.local)?$/, '')
  const found = SUFFIXES.map((suffix) => names[plain + suffix]).find((each) => each !== undefined)
  // Clients take the first one: a random one, as the kernel of a node does.
  const first = found && Math.floor(Math.random() * found.length)
  return found && [...found.slice(first), ...found.slice(0, first)]
}

function notFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: name,
  })
}

type Answer = (error: Error | null, address?: string | LookupAddress[], family?: number) => void
type LookupOptions = { all?: boolean }

const { lookup, resolve4, resolve6 } = dns
const { lookup: lookupLater, resolve4: resolve4Later } = dns.promises

function lookupInCluster(name: string, options: LookupOptions | number | Answer, given?: Answer): void {
  const answer = typeof options === 'function' ? options : given
  const addresses = known(name)
  if (!addresses) return void Reflect.apply(lookup, dns, given ? [name, options, given] : [name, options])
  const isAll = typeof options === 'object' && options.all === true
  const found = addresses.map((address) => ({ address, family: 4 }))
  process.nextTick(() => {
    if (found.length === 0) answer?.(notFound(name))
    else if (isAll) answer?.(null, found)
    else answer?.(null, found[0]?.address, 4)
  })
}

async function lookupInClusterLater(name: string, options?: LookupOptions): Promise<unknown> {
  const addresses = known(name)
  if (!addresses) return Reflect.apply(lookupLater, dns.promises, [name, options])
  if (addresses.length === 0) throw notFound(name)
  const found = addresses.map((address) => ({ address, family: 4 }))
  return options?.all ? found : found[0]
}

type Resolved = (error: Error | null, addresses?: string[]) => void
function resolveInCluster(name: string, ...rest: unknown[]): void {
  const addresses = known(name)
  if (!addresses) return void Reflect.apply(resolve4, dns, [name, ...rest])
  const answer = rest.at(-1) as Resolved
  process.nextTick(() => (addresses.length === 0 ? answer(notFound(name)) : answer(null, addresses)))
}

function resolve6InCluster(name: string, ...rest: unknown[]): void {
  if (!known(name)) return void Reflect.apply(resolve6, dns, [name, ...rest])
  const answer = rest.at(-1) as Resolved
  process.nextTick(() => answer(notFound(name)))
}

const resolveInClusterLater = async (name: string, ...rest: unknown[]): Promise<unknown> =>
  known(name) ?? (await Reflect.apply(resolve4Later, dns.promises, [name, ...rest]))

if (file !== '') {
  Object.assign(dns, { lookup: lookupInCluster, resolve4: resolveInCluster, resolve6: resolve6InCluster })
  Object.assign(dns.promises, { lookup: lookupInClusterLater, resolve4: resolveInClusterLater })
  Object.assign(os, { cpus: ownProcessors })
  syncBuiltinESMExports()
}
