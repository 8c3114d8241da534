import { globSync } from 'node:fs'

const SUFFIX = {
  unit: '.test.ts',
  integration: '.int.test.ts',
  media: '.media.test.ts',
  browser: '.browser.test.ts',
  kubernetes: '.kubernetes.test.ts',
}

/** The kinds of tests, quickest first. */
export const KINDS = Object.keys(SUFFIX)

export const isKind = (kind) => Object.hasOwn(SUFFIX, kind)

/** Kind of a test file by its name; undefined when it is none. */
export function kindOf(file) {
  const [, special] = /\.(int|media|browser|kubernetes)\.test\.ts$/.exec(file) ?? []
  if (special) return special === 'int' ? 'integration' : special
  return file.endsWith('.test.ts') ? 'unit' : undefined
}

/** Sources of the tests of one kind in a package's folder, relative to it. */
export const findTests = (folder, kind) =>
  globSync(`src/**/*${SUFFIX[kind]}`, { cwd: folder })
    .filter((file) => kindOf(file) === kind)
    .toSorted()
