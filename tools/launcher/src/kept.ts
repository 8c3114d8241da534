import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const SECRET_FILE = 'secret'

const NODE_NAME_FILE = 'media-node'

/** SERVICE_SECRET, else the one kept in the data folder. */
export const findSecret = (env: NodeJS.ProcessEnv, dataFolder: string): string =>
  env.SERVICE_SECRET || kept(join(dataFolder, SECRET_FILE), () => randomBytes(18).toString('base64url'))

/** What the media nodes of this folder are called: the same at each start, and like those of no other machine. */
export const nodeName = (dataFolder: string): string =>
  kept(join(dataFolder, NODE_NAME_FILE), () => `media_${randomBytes(5).toString('hex')}`)

/** What an earlier run wrote, made on the first one; readable for its owner alone. */
function kept(file: string, make: () => string): string {
  const there = read(file)
  if (there !== '') return there
  const made = make()
  writeFileSync(file, `${made}\n`, { mode: 0o600 })
  return made
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
