import { readFileSync } from 'node:fs'
import { isErrno } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { WorkerLoad } from './least-loaded.js'

const EXIT_TIMEOUT_MS = 2_000

/** A living mediasoup worker with its WebRtcServer and its load. */
export class PoolWorker implements WorkerLoad {
  rooms = 0
  consumers = 0
  /** Resident memory at the last probe, bytes. */
  memoryBytes = 0

  constructor(
    /** From 0; a worker that replaces a dead one has its index and port. */
    readonly index: number,
    readonly worker: types.Worker,
    readonly webRtcServer: types.WebRtcServer,
    /** The port for media. */
    readonly port: number,
    /** The address in ICE candidates; undefined: the listen address. */
    readonly announcedAddress: () => string | undefined = () => undefined,
  ) {}

  /** Sends a request that a healthy worker answers at once, and reads the memory size. */
  async probe(): Promise<void> {
    const { ru_maxrss: peakKilobytes } = await this.worker.getResourceUsage()
    this.memoryBytes = residentBytes(this.worker.pid) ?? peakKilobytes * 1024
  }

  kill(): void {
    try {
      process.kill(this.worker.pid, 'SIGKILL')
    } catch (error) {
      // It has exited already.
      if (!isErrno(error, 'ESRCH')) throw error
    }
  }

  /** Closes the worker and waits until its process has exited; kills it after a timeout. */
  async end(): Promise<void> {
    if (this.worker.subprocessClosed) return
    const gone = new Promise<void>((resolve) => this.worker.once('subprocessclose', resolve))
    this.worker.close()
    const killer = setTimeout(() => this.kill(), EXIT_TIMEOUT_MS)
    await gone.finally(() => clearTimeout(killer))
  }
}

/** Undefined when the process has ended. It waits for no disk, and costs less than the four tasks of an asynchronous read. */
function residentBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}
