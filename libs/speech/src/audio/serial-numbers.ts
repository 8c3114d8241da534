/** The signed distance from `to` to `from` of 16-bit sequence numbers that wrap. */
export const sequenceDistance = (from: number, to: number): number => ((from - to) << 16) >> 16

/** The signed distance from `to` to `from` of 32-bit timestamps that wrap. */
export const timestampDistance = (from: number, to: number): number => (from - to) | 0
