import { backoffMs } from '@session-service/server-kit'

const FIRST_MS = 500
const LONGEST_MS = 15_000

/** The delay before a program is started again, ms: none after the first failure in a row. */
export const retryDelay = (failures: number, random = Math.random()): number =>
  failures <= 1 ? 0 : backoffMs(failures - 1, { firstMs: FIRST_MS, longestMs: LONGEST_MS }, random)
