import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of an executable program, searched in PATH unless `name` is a path; undefined when there is none. */
export function which(name: string): string | undefined {
  const paths = name.includes('/')
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
