import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverAccount } from '@session-service/local-stack'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { OptionError } from './options.js'
import { speechFiles } from './speech.js'

let folder: string
let data: string
let given: { VOSK_LIBRARY: string; VOSK_MODELS: string }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'speech-'))
  data = mkdtempSync(join(tmpdir(), 'data-'))
  chmodSync(data, 0o755)
  const fetched = join(folder, 'fetched')
  mkdirSync(join(fetched, 'models/en-US/am'), { recursive: true })
  writeFileSync(join(fetched, 'libvosk.so'), 'library')
  writeFileSync(join(fetched, 'models/en-US/am/final.mdl'), 'model')
  given = { VOSK_LIBRARY: join(fetched, 'libvosk.so'), VOSK_MODELS: join(fetched, 'models') }
})
afterEach(() => {
  for (const each of [folder, data]) rmSync(each, { recursive: true, force: true })
})

it('files that the account can read are used where they are', () => {
  expect(speechFiles('en-US', given, undefined, data)).toEqual({
    lang: 'en-US',
    library: given.VOSK_LIBRARY,
    models: given.VOSK_MODELS,
  })
  expect(readdirSync(data)).toEqual([])
})

const account = process.getuid?.() === 0 ? serverAccount() : undefined
const itAsRoot = account ? it : it.skip

itAsRoot('files in a folder that the account cannot enter are copied once', () => {
  // mkdtemp creates folders that only their owner can enter.
  const first = speechFiles('en-US', given, account, data)
  expect(first).toEqual({
    lang: 'en-US',
    library: join(data, 'speech-to-text/libvosk.so'),
    models: join(data, 'speech-to-text'),
  })
  expect(readFileSync(join(first.models, 'en-US/am/final.mdl'), 'utf8')).toBe('model')
  const { ino } = statSync(first.library)
  expect(speechFiles('en-US', given, account, data)).toEqual(first)
  expect(statSync(first.library).ino).toBe(ino)
  expect(readdirSync(first.models).toSorted()).toEqual(['en-US', 'libvosk.so'])
})

it.each([
  [{}, 'VOSK_LIBRARY and VOSK_MODELS are not set'],
  [{ VOSK_LIBRARY: '/nowhere/libvosk.so', VOSK_MODELS: '/nowhere' }, 'there is no file /nowhere/libvosk.so'],
])('without files (%j) the launcher stops with the reason', (env: Record<string, string>, words) => {
  const attempt = () => speechFiles('en-US', env, undefined, data)
  expect(attempt).toThrow(OptionError)
  expect(attempt).toThrow(words)
})
