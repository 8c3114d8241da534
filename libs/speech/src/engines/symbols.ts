import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'

/**
 * Examines a table of symbols if there is one: `symbol id` in each line, ids count from 0. Libraries read a damaged table
 * without an error, and recognize wrong words.
 * @throws Error when the table is cut off
 */
export async function checkSymbols(file: string): Promise<void> {
  const table = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  const problem = table && symbolsProblem(table)
  if (problem) throw new Error(`${basename(file)} is damaged: ${problem}`)
}

/** Few symbols have the id of another one. */
const MOST_SHARED_IDS = 16
const LONGEST_LINE = 1_000
const LINE_BREAK = 0x0a

/** Why a table of symbols cannot be whole; undefined when it can. Pure. Tables are large: only the last line is text. */
export function symbolsProblem(table: Uint8Array): string | undefined {
  const last = Buffer.from(table.slice(-LONGEST_LINE)).toString('utf8').trimEnd().split('\n').at(-1) ?? ''
  if (last === '') return 'it is empty'
  const id = /(?:^|\s)(\d+)$/.exec(last)?.[1]
  if (id === undefined) return 'its last line has no number'
  const lines = table.reduce((sum, byte) => sum + (byte === LINE_BREAK ? 1 : 0), 0)
  return Number(id) < lines - MOST_SHARED_IDS ? 'its last line is cut off' : undefined
}
