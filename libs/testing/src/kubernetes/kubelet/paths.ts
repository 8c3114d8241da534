/** A path in a container and the folder of this machine that stands for it. */
export interface Mount {
  path: string
  folder: string
}

const escape = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/**
 * Replaces the paths of mounted folders in a text, such as a variable or an argument. Pods run without mounts of their
 * own, so that the tests need no privileges. A path ends before a slash or a character that no path of ours contains.
 */
export function translatePaths(text: string, mounts: readonly Mount[]): string {
  const longestFirst = mounts.toSorted((a, b) => b.path.length - a.path.length)
  if (longestFirst.length === 0) return text
  const pattern = new RegExp(
    String.raw`(?<![\w./-])(${longestFirst.map(({ path }) => escape(path)).join('|')})(?![\w.-])`,
    'g',
  )
  const folders = new Map(longestFirst.map(({ path, folder }) => [path, folder]))
  return text.replaceAll(pattern, (path) => folders.get(path) ?? path)
}
