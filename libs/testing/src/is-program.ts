import { accessSync, constants } from 'node:fs'

/** Whether there is something that may be run. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
