import type { Stats } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { ModelError } from './model-error.js'
import { modelFiles, type ModelFiles, recognizeFiles, requiredFiles } from './model-files.js'

const DESCRIPTION = 'stt.json'
/** A language is the name of a folder. */
const LANGUAGE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
/** A folder with more files is not that of a model. */
const MOST_FILES = 1_000

export interface LanguageModel {
  language: string
  folder: string
  files: ModelFiles
  /** The size of all files. */
  bytes: number
}

/** @throws ModelError when the language has no folder or the folder holds no usable model */
export async function findModel(models: string, language: string): Promise<LanguageModel> {
  const folder = join(models, language)
  if (!LANGUAGE.test(language) || !(await readOf(folder, language, isFolder(folder))))
    throw new ModelError('unknown-language', `no language model for ${JSON.stringify(language.slice(0, 64))}`)
  return readModel(folder, language)
}

/** @throws ModelError when the folder holds no usable model */
export const readModel = (folder: string, language: string): Promise<LanguageModel> =>
  readOf(folder, language, inspect(folder, language))

async function inspect(folder: string, language: string): Promise<LanguageModel> {
  const invalid = (reason: string): ModelError => invalidModel(language, reason)
  const sizes = await sizesOf(folder)
  if (!sizes) throw invalid(`its folder holds more than ${MOST_FILES} files`)
  const names = [...sizes.keys()]
  const files = sizes.has(DESCRIPTION)
    ? parseDescription(await readFile(join(folder, DESCRIPTION), 'utf8'), invalid)
    : recognizeFiles(names)
  if (!files) throw invalid('its files are those of no known kind of model')
  for (const name of requiredFiles(files)) {
    if (!sizes.has(name)) throw invalid(`${name} is missing`)
  }
  const empty = names.find((name) => sizes.get(name) === 0 && isPart(name))
  if (empty) throw invalid(`${empty} is empty`)
  return { language, folder, files, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) }
}

const invalidModel = (language: string, reason: string): ModelError =>
  new ModelError('invalid-model', `the language model ${language} cannot be used: ${reason}`)

/** @throws ModelError that names the file of the folder which cannot be read, if the system names it */
async function readOf<T>(folder: string, language: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    const { code, path, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    // A disk that fails while a file is read: the error has no path.
    const name = path === undefined ? 'a file' : relative(folder, path) || 'its folder'
    throw invalidModel(language, `${name} cannot be read (${code})`)
  }
}

/** All models below a folder, in the order of their languages, and the folders that hold none, each with the reason. */
export async function listModels(
  models: string,
): Promise<{ models: LanguageModel[]; problems: { language: string; reason: string }[] }> {
  const found: LanguageModel[] = []
  const problems: { language: string; reason: string }[] = []
  const entries: string[] = await readdir(models).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const language of entries.toSorted()) {
    const folder = join(models, language)
    try {
      if (LANGUAGE.test(language) && (await readOf(folder, language, isFolder(folder))))
        found.push(await readModel(folder, language))
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      problems.push({ language, reason: error.message })
    }
  }
  return { models: found, problems }
}

/** Vosk hangs without the content of its settings. */
const isPart = (name: string): boolean => /^(am|conf|graph)\/|\.(onnx|ort)$|^tokens\.txt$/.test(name)

const MIB = 2 ** 20
/** Measured with a Vosk model of 78 MiB and Moonshine Tiny. `share`: bytes of memory for each byte of the model's files. */
const MEMORY = {
  vosk: { process: 100 * MIB, share: 1.8, stream: 48 * MIB },
  sherpa: { process: 150 * MIB, share: 2, stream: 32 * MIB },
} as const

/** The memory that the process of a model needs, an estimate for the admission: before a stream, and for each stream. */
export function estimateMemory({ files, bytes }: Pick<LanguageModel, 'files' | 'bytes'>): {
  model: number
  stream: number
} {
  const { process, share, stream } = MEMORY[files.engine]
  return { model: process + Math.round(bytes * share), stream }
}

function parseDescription(text: string, invalid: (reason: string) => ModelError): ModelFiles {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw invalid(`${DESCRIPTION} is not JSON`)
  }
  const parsed = modelFiles.safeParse(content)
  if (parsed.success) return parsed.data
  throw invalid(`${DESCRIPTION}: ${z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, ' ')}`)
}

/** The size of each file below a folder, by its relative path; undefined when there are too many. Follows links. */
async function sizesOf(folder: string): Promise<Map<string, number> | undefined> {
  const sizes = new Map<string, number>()
  const pending = ['']
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const name of await readdir(join(folder, path))) {
      const child = path ? `${path}/${name}` : name
      const info = await infoOf(join(folder, child))
      if (info?.isDirectory()) pending.push(child)
      if (info?.isFile()) sizes.set(child, info.size)
      if (sizes.size + pending.length > MOST_FILES) return undefined
    }
  }
  return sizes
}

const isFolder = async (path: string): Promise<boolean> => (await infoOf(path))?.isDirectory() === true

/** Undefined for a path that leads to nothing, such as a link to a file that was removed. */
const infoOf = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return undefined
    throw error
  })
