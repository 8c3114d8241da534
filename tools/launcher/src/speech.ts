import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { type Account, makeOwnedFolder, mayRead } from '@session-service/local-stack'
import type { Env } from './environments.js'
import { OptionError } from './options.js'

/** The engine and the language models of the media nodes. */
export interface SpeechFiles {
  lang: string
  library: string
  /** One folder for each language. */
  models: string
}

const MODEL_FILE = 'am/final.mdl'
const FOLDER = 'speech-to-text'

/** The files that the bootstrap fetched, or copies in the data folder when the account cannot read them. */
export function speechFiles(lang: string, given: Env, account: Account | undefined, dataFolder: string): SpeechFiles {
  const { VOSK_LIBRARY: library, VOSK_MODELS: models } = given
  if (library === undefined || models === undefined)
    throw new OptionError('--speech: VOSK_LIBRARY and VOSK_MODELS are not set; "npm start -- --speech" fetches both')
  for (const file of [library, join(models, lang, MODEL_FILE)])
    if (!existsSync(file)) throw new OptionError(`--speech: there is no file ${file}`)
  if (mayRead(account, library) && mayRead(account, join(models, lang, MODEL_FILE))) return { lang, library, models }
  const folder = join(dataFolder, FOLDER)
  mkdirSync(folder, { recursive: true })
  const copy = copyOnce(library, join(folder, 'libvosk.so'))
  copyOnce(join(models, lang), join(folder, lang))
  makeOwnedFolder(folder, account)
  return { lang, library: copy, models: folder }
}

/** Renames a complete copy, so that a killed launcher leaves no part of one. */
function copyOnce(from: string, to: string): string {
  if (existsSync(to)) return to
  const draft = `${to}.${randomUUID()}`
  try {
    cpSync(from, draft, { recursive: true, dereference: true })
    renameSync(draft, to)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return to
}
