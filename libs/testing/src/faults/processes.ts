import { descendantsOf } from '../invariants.js'

/** What it takes to aim a fault at a process. */
export interface Victim {
  readonly pid: number
}

/** Stops the process and all that descend from it where they are; sockets stay open. Parents first, so that none is replaced. */
export function freeze({ pid }: Victim): void {
  signalFamily(pid, 'SIGSTOP')
}

export function thaw({ pid }: Victim): void {
  signalFamily(pid, 'SIGCONT')
}

/** As a power cut: the process and all that descend from it, at once. */
export function killFamily({ pid }: Victim): void {
  signalFamily(pid, 'SIGKILL')
}

function signalFamily(pid: number, signal: NodeJS.Signals): void {
  const family = [pid, ...descendantsOf(pid).map((each) => each.pid)]
  for (const member of family) {
    try {
      process.kill(member, signal)
    } catch (error) {
      // It ended meanwhile.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}
