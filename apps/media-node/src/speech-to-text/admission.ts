import { ServiceError } from '@session-service/contract'

const MIB = 2 ** 20
/** Memory that language models leave for media and recordings. */
export const MEMORY_RESERVE = 256 * MIB
/** A small model with some streams: what an automatic slot is for. */
const TYPICAL_MODEL = 400 * MIB

export interface Load {
  /** The configured number of slots; 0: as many as fit into the memory. */
  slots: number
  /** Models that are loaded or being loaded. */
  models: number
  /** Bytes that are available now. */
  available: number
  /** The estimated memory of models that are still being loaded. */
  reserved: number
}

/** @throws ServiceError NO_CAPACITY when a model that needs these bytes cannot be loaded beside the others */
export function requireRoomFor(lang: string, bytes: number, load: Load): void {
  const { slots, models } = load
  if (slots > 0 && models >= slots)
    throw noCapacity(`cannot load the language model ${lang}: all ${slots} slots of the media node are in use`)
  requireMemory(`load the language model ${lang}`, bytes, load)
}

/** @throws ServiceError NO_CAPACITY when these bytes are not available */
export function requireMemory(purpose: string, bytes: number, { available, reserved }: Load): void {
  const free = available - reserved - MEMORY_RESERVE
  if (bytes <= free) return
  const [needed, left] = [bytes, Math.max(0, free)].map((each) => Math.ceil(each / MIB))
  throw noCapacity(`cannot ${purpose}: it needs about ${needed} MiB of memory and the media node has ${left} MiB left`)
}

/** The slots of the node, for masters and operators. */
export function slotsOf({ slots, models, available, reserved }: Load): { used: number; total: number } {
  if (slots > 0) return { used: models, total: Math.max(slots, models) }
  const free = Math.max(0, available - reserved - MEMORY_RESERVE)
  return { used: models, total: models + Math.floor(Math.min(free, Number.MAX_SAFE_INTEGER) / TYPICAL_MODEL) }
}

const noCapacity = (message: string): ServiceError => new ServiceError('NO_CAPACITY', message)
