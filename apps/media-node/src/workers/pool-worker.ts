import { readFile } from 'node:fs/promises'
import { isErrno } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { WorkerLoad } from './least-loaded.js'

const END_MS = 2_000

/** One living mediasoup worker with its one WebRtcServer, and what rests on it. */
export class PoolWorker implements WorkerLoad {
  rooms = 0
  consumers = 0
  /** Resident memory at the last look, bytes. */
  memoryBytes = 0

  constructor(
    readonly slot: number,
    readonly worker: types.Worker,
    readonly webRtcServer: types.WebRtcServer,
    /** Where it takes media. */
    readonly port: number,
  ) {}

  /** Asks the worker something that it answers at once when it is well, and looks how big it is. */
  async look(): Promise<void> {
    const { ru_maxrss: peakKilobytes } = await this.worker.getResourceUsage()
    this.memoryBytes = (await residentBytes(this.worker.pid)) ?? peakKilobytes * 1024
  }

  kill(): void {
    try {
      process.kill(this.worker.pid, 'SIGKILL')
    } catch (error) {
      // Gone already is as good.
      if (!isErrno(error, 'ESRCH')) throw error
    }
  }

  /** Ends the process and waits until it is gone; one that does not go by itself is killed. */
  async end(): Promise<void> {
    if (this.worker.subprocessClosed) return
    const gone = new Promise<void>((resolve) => this.worker.once('subprocessclose', resolve))
    this.worker.close()
    const killer = setTimeout(() => this.kill(), END_MS)
    await gone.finally(() => clearTimeout(killer))
  }
}

/** From Linux's /proc; elsewhere unknown. */
async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
