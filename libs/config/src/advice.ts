import { isFor, type Environment } from './load.js'
import type { ProcessKind, Property } from './property.js'
import { PROPERTIES, PROPERTY_NAMES } from './table.js'

const KNOWN: ReadonlySet<string> = new Set(PROPERTY_NAMES)
const OURS = /^(SERVICE|MEDIA_NODE)_/
/** Kubernetes sets such names for every Service object: they are not meant for us. */
const OF_KUBERNETES = /_(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP)(_(ADDR|PORT|PROTO))?)?)$/

/** What is set but does nothing, one sentence each: names that do not exist, and properties nothing acts on yet. */
export function configAdvice(process: ProcessKind, env: Environment): string[] {
  const set = Object.keys(env).filter((name) => env[name]?.trim())
  const unknown = set.filter((name) => OURS.test(name) && !KNOWN.has(name) && !OF_KUBERNETES.test(name))
  const idle = PROPERTY_NAMES.filter((name) => {
    const property: Property = PROPERTIES[name]
    return property.pending && isFor(process, property) && set.includes(name)
  })
  return [
    ...unknown.map((name) => `${name} is set but no such property exists`),
    ...idle.map((name) => `${name} is set but has no effect in this version`),
  ]
}
