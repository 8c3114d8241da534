import { readFileSync } from 'node:fs'

/** Linux only; see "Pressure Stall Information" in the documentation of the kernel. */
const PRESSURE_FILE = '/proc/pressure/cpu'

/** How long processes have waited for a processor, ms, from the text of /proc/pressure/cpu; 0 without it. */
export const stalledMs = (text: string): number => Number(/^some .*total=(\d+)/m.exec(text)?.[1] ?? 0) / 1_000

/**
 * The time of a monotonic clock, ms, that stands still while a process of this machine waits for a processor: tests that
 * measure a promised time pass on a busy machine as they do on an idle one.
 */
export const calmMs = (): number => performance.now() - stalledMs(readPressure())

function readPressure(): string {
  try {
    return readFileSync(PRESSURE_FILE, 'utf8')
  } catch {
    // Not Linux, or a kernel without it: all time counts.
    return ''
  }
}
