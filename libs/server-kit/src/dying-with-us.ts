import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The program's path; undefined when there is none of that name. */
export function which(name: string): string | undefined {
  const places = name.includes('/')
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const SETPRIV = process.platform === 'linux' ? which('setpriv') : undefined

/** Becomes the program in its last arguments, unless its parent, the first one, died before the kernel was told to care. */
const IF_PARENT_LIVES = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'

/** Whether programs can be bound to this process: such a one needs no help from its process group. */
export const canDieWithUs = SETPRIV !== undefined

/** What to run in place of the program, so that it is killed when this process ends, however it does; the pid stays the same. */
export function dyingWithUs(program: string, args: readonly string[]): [command: string, ...args: string[]] {
  if (!SETPRIV) return [program, ...args]
  const shell = ['/bin/sh', '-c', IF_PARENT_LIVES, 'sh', String(process.pid)]
  return [SETPRIV, '--pdeathsig', 'KILL', '--', ...shell, program, ...args]
}
