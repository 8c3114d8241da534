import { text } from 'node:stream/consumers'
import { expect, it } from '@jest/globals'
import { PAGE_ROWS, type Position, streamedList } from './streamed-list.js'

const ROWS = 2 * PAGE_ROWS + 1
const table = Array.from({ length: ROWS }, (_, at): Position => ({ createdAt: at + 1, id: `row-${at}` }))

function list(key: string, reads: (Position | undefined)[]): Promise<string> {
  const readPage = async (after: Position | undefined): Promise<Position[]> => {
    reads.push(after)
    const from = after?.createdAt ?? 0
    return table.slice(from, from + PAGE_ROWS)
  }
  return streamedList({ key: [key], readPage, view: ({ id }) => ({ id }) }).then((file) => text(file.getStream()))
}

it('reads each page of equal lists that begin at the same time at most twice', async () => {
  const reads: (Position | undefined)[] = []
  const lists = await Promise.all(Array.from({ length: 20 }, () => list('equal', reads)))
  expect(new Set(lists).size).toBe(1)
  expect(JSON.parse(lists[0] ?? '')).toEqual({ content: table.map(({ id }) => ({ id })), numberOfElements: ROWS })
  expect(reads.length).toBeGreaterThanOrEqual(3)
  expect(reads.length).toBeLessThanOrEqual(6)
})

it('reads the pages of lists with other keys by themselves', async () => {
  const reads: (Position | undefined)[] = []
  await Promise.all(['one', 'other'].map((key) => list(key, reads)))
  expect(reads).toHaveLength(6)
})
