import { isErrno } from '@session-service/local-stack'
import { descendantsOf } from '../invariants.js'

/** The target process of a fault. */
export interface Victim {
  readonly pid: number
}

/** Stops a process and its descendants; sockets stay open. Parents first, so that they do not replace a stopped child. */
export function freeze({ pid }: Victim): void {
  signalFamily(pid, 'SIGSTOP')
}

export function thaw({ pid }: Victim): void {
  signalFamily(pid, 'SIGCONT')
}

/** Kills a process and its descendants, like a power failure. */
export function killFamily({ pid }: Victim): void {
  signalFamily(pid, 'SIGKILL')
}

function signalFamily(pid: number, signal: NodeJS.Signals): void {
  const family = [pid, ...descendantsOf(pid).map((each) => each.pid)]
  for (const member of family) {
    try {
      process.kill(member, signal)
    } catch (error) {
      // The process has exited meanwhile.
      if (!isErrno(error, 'ESRCH')) throw error
    }
  }
}
