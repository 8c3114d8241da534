import { afterEach, describe, expect, it } from '@jest/globals'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ModelFiles, recognizeFiles } from './model-files.js'
import { estimateMemory, findModel, listModels } from './model-folder.js'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A folder of models: `{ 'en-US/am/final.mdl': 'text' }`; objects become JSON. */
function modelsWith(files: Record<string, string | object>): string {
  const root = mkdtempSync(join(tmpdir(), 'speech-models-'))
  folders.push(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return root
}

const TRANSDUCER = ['tokens.txt', 'encoder-epoch-9.onnx', 'decoder-epoch-9.onnx', 'joiner-epoch-9.onnx']
const MOONSHINE = ['tokens.txt', 'encoder_model.onnx', 'decoder_model_merged.onnx', 'silero_vad.onnx']
const WHISPER = ['tokens.txt', 'tiny-encoder.onnx', 'tiny-decoder.onnx', 'silero_vad.onnx']
const tokens = 'tokens.txt'
const vad = 'silero_vad.onnx'

describe('the kind of a model', () => {
  const table: [string, string[], ModelFiles | undefined][] = [
    ['Vosk', ['am/final.mdl', 'graph/HCLr.fst', 'conf/mfcc.conf'], { engine: 'vosk' }],
    ['Vosk before all others', ['am/final.mdl', ...TRANSDUCER], { engine: 'vosk' }],
    [
      'a streaming transducer',
      TRANSDUCER,
      {
        engine: 'sherpa',
        kind: 'transducer',
        encoder: 'encoder-epoch-9.onnx',
        decoder: 'decoder-epoch-9.onnx',
        joiner: 'joiner-epoch-9.onnx',
        tokens,
      },
    ],
    [
      'a transducer with 8-bit weights',
      [...TRANSDUCER, 'encoder-epoch-9.int8.onnx'],
      {
        engine: 'sherpa',
        kind: 'transducer',
        encoder: 'encoder-epoch-9.int8.onnx',
        decoder: 'decoder-epoch-9.onnx',
        joiner: 'joiner-epoch-9.onnx',
        tokens,
      },
    ],
    [
      'Moonshine',
      MOONSHINE,
      {
        engine: 'sherpa',
        kind: 'moonshine',
        encoder: 'encoder_model.onnx',
        decoder: 'decoder_model_merged.onnx',
        tokens,
        vad,
      },
    ],
    [
      'Whisper',
      WHISPER,
      {
        engine: 'sherpa',
        kind: 'whisper',
        encoder: 'tiny-encoder.onnx',
        decoder: 'tiny-decoder.onnx',
        tokens,
        vad,
      },
    ],
    ['no model without tokens', ['encoder.onnx', 'decoder.onnx', 'joiner.onnx'], undefined],
    ['no model without files', [], undefined],
    ['no model among other files', ['readme.md', 'model.bin'], undefined],
    ['no model below a folder', ['tokens.txt', 'x/encoder.onnx', 'x/decoder.onnx'], undefined],
  ]
  it.each(table)('is recognized by the files: %s', (_kind, names, files) => {
    expect(recognizeFiles(names)).toEqual(files)
  })
})

const filled = (names: string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [`en-US/${name}`, 'weights']))

describe('the model of a language', () => {
  it('has the size of all its files', async () => {
    const models = modelsWith(filled(['am/final.mdl', 'graph/HCLr.fst']))
    expect(await findModel(models, 'en-US')).toEqual({
      language: 'en-US',
      folder: join(models, 'en-US'),
      files: { engine: 'vosk' },
      bytes: 14,
    })
  })

  it('may be a link, so that one model serves two languages', async () => {
    const models = modelsWith(filled(['am/final.mdl']))
    symlinkSync('en-US', join(models, 'en-GB'))
    expect(await findModel(models, 'en-GB')).toMatchObject({ language: 'en-GB', bytes: 7 })
  })

  it('is what stt.json describes, whatever else the folder holds', async () => {
    const description = { engine: 'sherpa', kind: 'whisper', encoder: 'a/e.onnx', decoder: 'a/d.onnx', language: 'en' }
    const models = modelsWith({
      'en-US/stt.json': description,
      ...filled(['a/e.onnx', 'a/d.onnx', 'am/final.mdl', tokens, vad]),
    })
    expect((await findModel(models, 'en-US')).files).toEqual({ ...description, tokens, vad })
  })

  it.each(['', '.', '..', '../en-US', 'en/US', '/etc', 'a b', '\0', 'x'.repeat(65), 'fr-FR'])(
    'an unknown language is reported as such: %j',
    async (language) => {
      const models = modelsWith(filled(['am/final.mdl']))
      await expect(findModel(models, language)).rejects.toMatchObject({ code: 'unknown-language' })
    },
  )

  const stt = (content: string | object): Record<string, string | object> => ({ 'en-US/stt.json': content })
  const problems: [string, Record<string, string | object>, RegExp][] = [
    ['no known kind', { 'en-US/readme.md': 'text' }, /en-US cannot be used: its files are those of no known kind/],
    ['a missing file', filled(MOONSHINE.slice(0, 3)), /silero_vad\.onnx is missing/],
    ['an empty file', { 'en-US/am/final.mdl': '' }, /am\/final\.mdl is empty/],
    ['a description that is no JSON', stt('{'), /stt\.json is not JSON/],
    ['an unknown engine', stt({ engine: 'azure' }), /stt\.json: .*engine/],
    ['an unknown kind', stt({ engine: 'sherpa', kind: 'ctc' }), /stt\.json: .*kind/],
    ['a described file that is missing', stt({ engine: 'vosk' }), /am\/final\.mdl is missing/],
    ['an unknown member', stt({ engine: 'vosk', speed: 2 }), /stt\.json: .*speed/],
    [
      'a path out of the folder',
      stt({ engine: 'sherpa', kind: 'moonshine', encoder: '../e.onnx', decoder: 'd.onnx' }),
      /stt\.json: .*inside of the folder.*encoder/,
    ],
  ]
  it.each(problems)('an unusable folder is reported with the reason: %s', async (_problem, files, words) => {
    await expect(findModel(modelsWith(files), 'en-US')).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(words),
    })
  })
})

/** Runs it as another account than root, which may read everything. */
async function withoutRights<T>(run: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await run()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

describe('a model of another account', () => {
  it.each([
    ['', 'its folder cannot be read (EACCES)'],
    ['en-US', 'its folder cannot be read (EACCES)'],
    ['en-US/am', 'am cannot be read (EACCES)'],
    ['en-US/stt.json', 'stt.json cannot be read (EACCES)'],
  ])('cannot be used, with the reason: without rights to %j', async (closed, reason) => {
    const models = modelsWith({ 'en-US/stt.json': { engine: 'vosk' }, ...filled(['am/final.mdl']) })
    chmodSync(models, 0o755)
    const path = join(models, closed)
    chmodSync(path, 0)
    try {
      await expect(withoutRights(() => findModel(models, 'en-US'))).rejects.toMatchObject({
        code: 'invalid-model',
        message: `the language model en-US cannot be used: ${reason}`,
      })
      if (closed !== '') {
        const listed = await withoutRights(() => listModels(models))
        expect(listed).toEqual({
          models: [],
          problems: [{ language: 'en-US', reason: expect.stringContaining(reason) }],
        })
      }
    } finally {
      chmodSync(path, 0o755)
    }
  })
})

describe('the list of languages', () => {
  it('contains the other models while a file of one fails to be read', async () => {
    const models = modelsWith({ 'de-DE/am/final.mdl': 'weights', 'en-US/am/final.mdl': 'weights' })
    // Reading its first bytes is an input error, as of a failing disk.
    symlinkSync('/proc/self/mem', join(models, 'en-US/stt.json'))
    const { models: found, problems } = await listModels(models)
    expect(found.map(({ language }) => language)).toEqual(['de-DE'])
    expect(problems).toEqual([
      { language: 'en-US', reason: 'the language model en-US cannot be used: a file cannot be read (EIO)' },
    ])
  })

  it('names usable models, and each other folder with the reason', async () => {
    const models = modelsWith({
      'es-ES/am/final.mdl': 'weights',
      'de-DE/readme.md': '',
      ...filled(MOONSHINE),
      'readme.md': 'a file beside the models',
      '.cache/x': '',
    })
    const listed = await listModels(models)
    expect(listed.models.map(({ language, files }) => [language, files.engine])).toEqual([
      ['en-US', 'sherpa'],
      ['es-ES', 'vosk'],
    ])
    expect(listed.problems).toEqual([{ language: 'de-DE', reason: expect.stringContaining('no known kind') }])
  })

  it('is empty without the folder of models', async () => {
    expect(await listModels('/nowhere/models')).toEqual({ models: [], problems: [] })
  })
})

it.each([
  ['vosk', { engine: 'vosk' }, 81_000_000, 249],
  ['sherpa', { engine: 'sherpa', kind: 'moonshine', encoder: '', decoder: '', tokens, vad }, 31_000_000, 225],
] as const)(
  'the memory of a model is estimated by the size of its files, here of %s',
  (_engine, files, bytes, measured) => {
    const { model } = estimateMemory({ files, bytes })
    expect(model / 2 ** 20).toBeGreaterThan(measured * 0.8)
    expect(model / 2 ** 20).toBeLessThan(measured * 1.2)
  },
)
