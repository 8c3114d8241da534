import { CLIENTS } from './properties/clients.js'
import { CLUSTER } from './properties/cluster.js'
import { COMMON } from './properties/common.js'
import { FEATURES } from './properties/features.js'
import { KUBERNETES } from './properties/kubernetes.js'
import { LIMITS } from './properties/limits.js'
import { MASTER } from './properties/master.js'
import { NODE } from './properties/node.js'
import { STORAGE } from './properties/storage.js'
import type { ProcessKind, Property, PropertyType } from './property/property.js'

/** All configuration properties, in the order of the documentation; a derived default may use the properties above it. */
export const PROPERTIES = {
  ...COMMON,
  ...MASTER,
  ...CLIENTS,
  ...LIMITS,
  ...FEATURES,
  ...STORAGE,
  ...CLUSTER,
  ...KUBERNETES,
  ...NODE,
} satisfies Record<string, Property>

type Table = typeof PROPERTIES
export type PropertyName = keyof Table
export const PROPERTY_NAMES = Object.keys(PROPERTIES) as PropertyName[]

/** The sections of the documentation. */
export const SECTIONS: readonly (readonly [title: string, properties: Readonly<Record<string, Property>>])[] = [
  ['Every process', COMMON],
  ['Master', MASTER],
  ['Clients of the master', CLIENTS],
  ['Limits and retention', LIMITS],
  ['Recording, call records, webhook', FEATURES],
  ['Storage of recordings', STORAGE],
  ['Cluster and statistics', CLUSTER],
  ['Kubernetes', KUBERNETES],
  ['Media node', NODE],
]

type ValueOf<P> = P extends { type: PropertyType<infer T> } ? T : never
export type Config<K extends ProcessKind> = {
  readonly [N in PropertyName as Table[N]['audience'] extends K | 'both' ? N : never]: ValueOf<Table[N]>
}
export type MasterConfig = Config<'master'>
export type NodeConfig = Config<'node'>
