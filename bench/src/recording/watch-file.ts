import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDecodable } from './fragments.js'

const LOOK_MS = 10
const PATIENCE_MS = 30_000

async function watch<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > until) throw new Error(`${what}: not within ${PATIENCE_MS} ms`)
    await delay(LOOK_MS)
  }
}

/** When it had bytes, on the clock of `performance.now()`. */
export const whenWritten = (file: string): Promise<number> =>
  watch(`bytes in ${file}`, async () => {
    const { size } = await stat(file).catch(() => ({ size: 0 }))
    return size > 0 ? performance.now() : undefined
  })

/** When a player could have shown something of it. */
export const whenDecodable = (file: string): Promise<number> =>
  watch(`a picture in ${file}`, async () => {
    const content = await readFile(file).catch(() => Buffer.alloc(0))
    return isDecodable(content) ? performance.now() : undefined
  })
