/**
 * The difference between the clock of `process.hrtime`, which all processes of the machine share, and that of
 * `performance.now()`, which begins with the process, ms.
 */
const OFFSET = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** The machine's time of a time of `performance.now()`. */
export const toMachineTime = (ms: number): number => ms + OFFSET

/** The time of `performance.now()` in this process for a time of the machine. */
export const fromMachineTime = (ms: number): number => ms - OFFSET
