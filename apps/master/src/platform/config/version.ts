import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** The server's version, semver, from the package it was built as. */
export const VERSION: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))).version
