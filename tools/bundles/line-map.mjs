// A stack trace needs the lines of the sources. A map with each token takes Node 150 ms and 14 MiB (master) at the first
// trace of a program, while its event loop waits.
import { decode, encode } from '@jridgewell/sourcemap-codec'

/** The source map, with one position for each part of a line of the bundle that comes from one line of a source. */
export function lineMap(map) {
  return { ...map, names: [], mappings: encode(decode(map.mappings).map(firstOfEachLine)) }
}

/** Positions: `[column, source, line of the source, column of the source, name]`, without the last four for other text. */
const firstOfEachLine = (positions) =>
  positions.filter((position, at) => !isSameLine(position, positions[at - 1])).map((position) => position.slice(0, 4))

const isSameLine = ([, source, line], before) => before?.[1] === source && before?.[2] === line
