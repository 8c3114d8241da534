import { InitialSchema1790000000056 } from './1790000000056-initial-schema.js'

/** In the order they run. */
export const MIGRATIONS = [InitialSchema1790000000056] as const
