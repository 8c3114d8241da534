import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDecodable } from './fragments.js'

const POLL_MS = 10
const TIMEOUT_MS = 30_000

async function poll<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const found = await probe()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`timeout after ${TIMEOUT_MS} ms: ${what}`)
    await delay(POLL_MS)
  }
}

/** Resolves with the time of `performance.now()` at which the file has bytes. */
export const whenWritten = (file: string): Promise<number> =>
  poll(`bytes in ${file}`, async () => {
    const { size } = await stat(file).catch(() => ({ size: 0 }))
    return size > 0 ? performance.now() : undefined
  })

/** Resolves with the time at which a player can show a picture of the file. */
export const whenDecodable = (file: string): Promise<number> =>
  poll(`a picture in ${file}`, async () => {
    const content = await readFile(file).catch(() => Buffer.alloc(0))
    return isDecodable(content) ? performance.now() : undefined
  })
