import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')

/** A compiled library of this workspace, loaded at run time: tools start before there are any. */
export const library = (name) => import(pathToFileURL(join(ROOT, 'libs', name, 'dist/index.js')).href)
