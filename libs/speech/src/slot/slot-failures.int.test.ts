/** Failures of a slot: no process is left, and the reason is reported. */
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { until } from '@session-service/local-stack'
import { SAMPLE_RATE } from '../engines/engine.js'
import { childrenOf, isAlive, sampleFiles, startSlot, type TestSlot } from '../fixtures/slots.js'
import { TEST_ENGINES, type TestEngine, testEngine } from '../fixtures/test-engines.js'

const LONG_MS = 300_000
const files = sampleFiles()
const silence = files.write('silence.pcm', new Int16Array(600 * SAMPLE_RATE))
const slots: TestSlot[] = []
afterEach(async () => {
  for (const { slot } of slots.splice(0)) await slot.stop()
  expect(childrenOf(process.pid)).toEqual([])
})
afterAll(() => files.close())

async function start(...args: Parameters<typeof startSlot>): Promise<TestSlot> {
  const started = await startSlot(...args)
  slots.push(started)
  return started
}

const [quickest] = TEST_ENGINES.toReversed()
const withEngine = quickest ? it : it.skip

withEngine(
  'a slot that is killed reports its exit and takes no stream',
  async () => {
    const { slot, exits } = await start(quickest!)
    await slot.open('a', { kind: 'file', path: silence, pace: 1 })
    process.kill(slot.pid!, 'SIGKILL')
    await until('it reports the exit', () => exits.length > 0)
    expect(exits).toEqual([expect.stringMatching(/language model en-US was ended by SIGKILL/)])
    expect(slot.running).toBe(false)
    await expect(slot.open('b', { kind: 'file', path: silence })).rejects.toThrow(/en-US is not loaded/)
  },
  LONG_MS,
)

withEngine(
  'a slot that hangs is killed when its heartbeats stop',
  async () => {
    const { slot, exits } = await start(quickest!, { limits: { heartbeatMs: 200, silenceMs: 5_000 } })
    const pid = slot.pid!
    process.kill(pid, 'SIGSTOP')
    const begin = performance.now()
    await until('it reports the exit', () => exits.length > 0, 60_000)
    expect(exits).toEqual([expect.stringMatching(/sent no heartbeat for 5000 ms/)])
    expect(performance.now() - begin).toBeGreaterThan(4_000)
    expect(isAlive(pid)).toBe(false)
  },
  LONG_MS,
)

withEngine(
  'a model that loads too slowly is given up',
  async () => {
    await expect(startSlot(quickest!, { limits: { loadMs: 1 } })).rejects.toThrow(/en-US took longer than 1 ms/)
    expect(childrenOf(process.pid)).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a source that fails is reported and leaves no stream',
  async () => {
    const { slot } = await start(quickest!, { limits: { heartbeatMs: 100 } })
    await expect(slot.open('a', { kind: 'file', path: '/nowhere/a.pcm' })).rejects.toThrow(/ENOENT/)
    await slot.open('b', { kind: 'file', path: silence, pace: 1 })
    await expect(slot.open('b', { kind: 'file', path: silence })).rejects.toThrow(/already open/)
    await until('one stream is counted', () => slot.usage.streams === 1)
    slot.close('b')
    await until('no stream is left', () => slot.usage.streams === 0)
  },
  LONG_MS,
)

withEngine(
  'a slot ends when its node is killed',
  async () => {
    const script = `import { Slot } from ${JSON.stringify(new URL('slot.js', import.meta.url).href)}
    const events = { result() {}, closed() {}, exit() {} }
    const slot = await Slot.start({ ...JSON.parse(process.argv[1]), language: 'en-US', events, limits: { loadMs: 120_000 } })
    console.log(slot.pid)
    setInterval(() => {}, 1_000)`
    const node = spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(quickest)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = (await once(node.stdout, 'data')) as [Buffer]
    const pid = Number(output.toString())
    expect(isAlive(pid)).toBe(true)
    node.kill('SIGKILL')
    await until('the slot has ended', () => !isAlive(pid))
    await until('the node has ended', () => node.exitCode !== null || node.signalCode !== null)
  },
  LONG_MS,
)

describe.each([
  ['vosk', 'am/final.mdl', 0.6],
  ['vosk', 'graph/HCLr.fst', 0.5],
  ['vosk', 'graph/HCLr.fst', 0.95],
  ['vosk', 'graph/Gr.fst', 0.7],
  ['vosk', 'graph/words.txt', 0.7],
  ['vosk', 'graph/phones/word_boundary.int', 0.7],
  ['moonshine', 'encoder_model.onnx', 0.7],
  ['moonshine', 'decoder_model_merged.onnx', 0.97],
  ['moonshine', 'silero_vad.onnx', 0.5],
  ['moonshine', 'tokens.txt', 0.5],
])('a truncated model of %s', (name, file, share) => {
  const engine = testEngine(name)
  ;(engine ? it : it.skip)(
    `is refused with a reason: ${file}, ${share} of it`,
    async () => {
      await expect(startSlot(truncated(engine!, file, share))).rejects.toThrow(
        /^(the process of )?the language model en-US .{20,}/,
      )
      expect(childrenOf(process.pid)).toEqual([])
    },
    LONG_MS,
  )
})

/** A folder with links to all files of the other. */
function linkAll(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkAll(source, target)
    else symlinkSync(source, target)
  }
}

function truncated(engine: TestEngine, file: string, share: number): TestEngine {
  const folder = join(files.folder, `${engine.name}-${file.replaceAll('/', '-')}-${share}`)
  linkAll(engine.folder, folder)
  const path = join(folder, file)
  rmSync(path)
  copyFileSync(join(engine.folder, file), path)
  truncateSync(path, Math.floor(statSync(path).size * share))
  return { ...engine, folder }
}

const vosk = testEngine('vosk')
;(vosk ? it : it.skip)(
  'a missing library of Vosk is named',
  async () => {
    const engine = { name: 'vosk', library: '/nowhere/libvosk.so' } as const
    await expect(startSlot({ ...vosk!, engine })).rejects.toThrow(
      /library of Vosk .nowhere.libvosk\.so cannot be loaded/,
    )
  },
  LONG_MS,
)

withEngine(
  'a missing libopus is reported by the load, not by the first stream',
  async () => {
    const folder = join(files.folder, 'libraries')
    mkdirSync(folder)
    writeFileSync(join(folder, 'libopus.so.0'), 'no library')
    process.env.LD_LIBRARY_PATH = folder
    try {
      await expect(startSlot(quickest!)).rejects.toThrow(
        /libopus\.so\.0 cannot be loaded: install the package libopus0/,
      )
    } finally {
      delete process.env.LD_LIBRARY_PATH
    }
  },
  LONG_MS,
)

withEngine(
  'the memory is back after 8 times loading and unloading',
  async () => {
    const cycle = async (at: number): Promise<void> => {
      const { slot } = await startSlot(TEST_ENGINES[at % TEST_ENGINES.length]!)
      await slot.open('a', { kind: 'file', path: silence, open: [{ from: 0, to: 1 }] })
      await slot.stop()
    }
    for (let at = 0; at < 2; at++) await cycle(at)
    const before = process.memoryUsage.rss()
    for (let at = 0; at < 8; at++) await cycle(at)
    expect(childrenOf(process.pid)).toEqual([])
    expect(process.memoryUsage.rss() - before).toBeLessThan(40 * 2 ** 20)
  },
  LONG_MS,
)
