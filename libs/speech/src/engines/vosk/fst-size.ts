import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'

const FST = 2_125_659_606
const ADD_ON = 446_681_434
const STATE_BYTES = 20
const ARC_BYTES = 16
/** An interval of labels is two numbers, a set of them ends with a count. */
const INTERVAL_BYTES = 8
const COUNT_BYTES = 4
const LONGEST_TEXT = 100

/** The content of a file. */
export interface Content {
  size: number
  /** `length` bytes from `at` on, fewer at the end. */
  read(at: number, length: number): Buffer
}

/**
 * Fails when a graph of OpenFst is cut off. The library reads such a graph without an error, and recognizes other words or
 * crashes later. Graphs of other types than those of Vosk's models are not examined. Graphs are large: only the parts that
 * say how long the others are go through the memory.
 */
export function checkGraph(file: string): void {
  if (!existsSync(file)) return
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const read = (at: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length)
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, at))
    }
    if (isCutOff({ size, read })) throw new Error(`${basename(file)} is damaged: its end is missing`)
  } finally {
    closeSync(descriptor)
  }
}

/** Whether a graph ends before its header says. */
export function isCutOff(content: Content): boolean {
  const reader = new Reader(content)
  walk(reader)
  return reader.isBeyondEnd
}

/** Moves to the end of the graph; stays where something is not known. */
function walk(reader: Reader): void {
  const { type, arc, isPlain, states, arcs } = readHeader(reader)
  if (arc !== 'standard' || !isPlain) return
  if (type === 'const') reader.skip(states * STATE_BYTES + arcs * ARC_BYTES)
  if (!/^[io]label_lookahead$/.test(type) || reader.int32() !== ADD_ON) return
  walk(reader)
  if (!reader.bool()) return
  for (let part = 0; part < 2; part++) if (reader.bool()) skipReachable(reader)
}

function readHeader(reader: Reader) {
  if (reader.int32() !== FST) return { type: '', arc: '', isPlain: false, states: 0, arcs: 0 }
  const [type, arc] = [reader.text(), reader.text()]
  reader.skip(4)
  // Symbols or an alignment change what follows.
  const isPlain = reader.int32() === 0
  reader.skip(16)
  return { type, arc, isPlain, states: reader.int64(), arcs: reader.int64() }
}

/** The labels that each state can reach, as sets of intervals. */
function skipReachable(reader: Reader): void {
  reader.skip(1)
  const isRelabelled = reader.bool()
  if (isRelabelled) reader.skip(reader.int64() * 8)
  reader.skip(4)
  const sets = reader.int64()
  for (let at = 0; at < sets && !reader.isBeyondEnd; at++) reader.skip(reader.int64() * INTERVAL_BYTES + COUNT_BYTES)
}

const WINDOW = 65_536

/** Reads numbers, little-endian; zeros beyond the end. */
class Reader {
  readonly #content: Content
  #window: Buffer = Buffer.alloc(0)
  #windowAt = 0
  #at = 0

  constructor(content: Content) {
    this.#content = content
  }

  get isBeyondEnd(): boolean {
    return this.#at > this.#content.size
  }

  skip(length: number): void {
    this.#at += length
  }

  bool(): boolean {
    return this.#take(1).readInt8() !== 0
  }

  int32(): number {
    return this.#take(4).readInt32LE()
  }

  int64(): number {
    return Number(this.#take(8).readBigInt64LE())
  }

  text(): string {
    const length = this.int32()
    return length > LONGEST_TEXT ? '' : this.#take(length).toString('latin1')
  }

  #take(length: number): Buffer {
    const at = this.#at
    this.#at += length
    if (this.isBeyondEnd) return Buffer.alloc(length)
    if (at < this.#windowAt || this.#at > this.#windowAt + this.#window.length) {
      this.#window = this.#content.read(at, WINDOW)
      this.#windowAt = at
    }
    return this.#window.subarray(at - this.#windowAt, this.#at - this.#windowAt)
  }
}
