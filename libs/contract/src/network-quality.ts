import { z } from 'zod'
import { Id } from './ids.js'

/**
 * How well the media of a publisher arrives: 5 excellent, 4 good, 3 occasional bursts of loss, 2 poor, 1 bad, 0 nothing
 * arrives.
 */
export const NetworkQualityLevel = z.number().int().min(0).max(5)

/** A level that a node has measured. Of two reports of the same epoch, the one with the higher revision is newer. */
export const NetworkQualityChange = z.object({
  roomId: Id,
  epoch: z.number().int().nonnegative(),
  /** The publisher. */
  connectionId: Id,
  revision: z.number().int().nonnegative(),
  level: NetworkQualityLevel,
})
export type NetworkQualityChange = z.infer<typeof NetworkQualityChange>
