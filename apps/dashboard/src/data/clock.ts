import { signal } from '@preact/signals'

const TICK_MS = 5_000

/** The service's clock at one moment of the page, so that ages are right when the clock of the browser is not. */
let known = { serviceMs: performance.timeOrigin + performance.now(), at: performance.now() }

export const serviceNow = (): number => known.serviceMs + performance.now() - known.at

/** Changes every few seconds: texts that contain an age read it to be rendered again. */
export const tick = signal(0)

export function setServiceClock(serviceMs: number): void {
  known = { serviceMs, at: performance.now() }
}

export const startTicking = (): void => void setInterval(() => (tick.value += 1), TICK_MS)
