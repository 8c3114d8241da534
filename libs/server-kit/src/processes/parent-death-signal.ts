import { which } from './which.js'

const SETPRIV = process.platform === 'linux' ? which('setpriv') : undefined

/** Executes the program in its last arguments, unless the parent died before the death signal was set. */
const IF_PARENT_LIVES = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'

/** True when the kernel can kill a child with this process; such a child needs no process group of its parent. */
export const hasParentDeathSignal = SETPRIV !== undefined

/** The command that runs a program so that the kernel kills it when this process ends; the pid stays the same. */
export function withParentDeathSignal(program: string, args: readonly string[]): [command: string, ...args: string[]] {
  if (!SETPRIV) return [program, ...args]
  const shell = ['/bin/sh', '-c', IF_PARENT_LIVES, 'sh', String(process.pid)]
  return [SETPRIV, '--pdeathsig', 'KILL', '--', ...shell, program, ...args]
}
