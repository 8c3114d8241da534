import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { freemem, totalmem } from 'node:os'
import { AlignedInterval } from '../async/aligned-interval.js'
import { metrics } from '../metrics.js'
import { CpuMeter, cpuTimes } from './cpu-meter.js'
import { type NetworkBytes, networkBytes } from './network-bytes.js'

/** How often it is checked whether a sample is due, ms: with the tick of a resting master where the interval allows it. */
const TICK_MS = 2_000
const SHORT_TICK_MS = 1_000
const MIB = 1024 ** 2

export interface MachineMonitorOptions {
  /** The interval between samples, ms; 0: no samples. It may change at any time. */
  intervalMs: () => number
  /** The folder whose disk is measured; undefined: none is. */
  folder: string | undefined
  /** The free space in the folder below which no recording starts, MiB. */
  minFreeMib: number
}

/** Samples CPU, memory, disk and network of the machine for its metrics; in a container, CPU and memory of the host. */
export class MachineMonitor {
  readonly #network = metrics.counter('machine_network_bytes_total', {
    help: 'Bytes that the machine has received and sent, without loopback and bridges of containers',
    labels: { direction: ['received', 'sent'] },
  })
  readonly #options: MachineMonitorOptions
  #cpu = new CpuMeter(1)
  #cpuRatio: number | undefined
  #memoryRatio: number | undefined
  /** The space of the disk, in bytes. */
  #space: { free: number; size: number } | undefined
  #bytes: NetworkBytes | undefined
  /** The number of the interval of the last sample. A timer that is early or late delays no later sample. */
  #sampled: number | undefined
  #timer: AlignedInterval | undefined

  constructor(options: MachineMonitorOptions) {
    this.#options = options
    metrics.sampled('machine_cpu_ratio', 'CPU load of the machine in the last interval, 0 to 1', () => this.#cpuRatio)
    metrics.sampled('machine_memory_used_ratio', 'Used memory of the machine, 0 to 1', () => this.#memoryRatio)
    metrics.sampled(
      'machine_recording_disk_free_bytes',
      'Free space on the disk of recordings',
      () => this.#space?.free,
    )
    metrics.sampled('machine_recording_disk_size_bytes', 'Size of the disk of recordings', () => this.#space?.size)
    metrics.sampled(
      'machine_recording_disk_min_free_bytes',
      'Free space on the disk of recordings below which no recording starts',
      () => this.#space && options.minFreeMib * MIB,
    )
  }

  start(): void {
    this.#timer = new AlignedInterval(() => {
      this.#timer?.every(this.#options.intervalMs() % TICK_MS === 0 ? TICK_MS : SHORT_TICK_MS)
      void this.sample(performance.now())
    }, TICK_MS).unref()
  }

  stop(): void {
    this.#timer?.stop()
  }

  /** Takes a sample if it is due at this time (monotonic, ms). */
  async sample(now: number): Promise<void> {
    const intervalMs = this.#options.intervalMs()
    if (intervalMs === 0) return this.#forget()
    const current = Math.floor(now / intervalMs)
    if (current === this.#sampled) return
    this.#sampled = current
    this.#cpu.add(cpuTimes())
    this.#cpuRatio = this.#cpu.isMeasured ? this.#cpu.load / 100 : undefined
    this.#memoryRatio = 1 - freemem() / totalmem()
    this.#sampleNetwork()
    await this.#sampleDisk()
  }

  /** Old samples would look like the present load. */
  #forget(): void {
    this.#cpu = new CpuMeter(1)
    this.#cpuRatio = this.#memoryRatio = undefined
    this.#space = undefined
    this.#sampled = undefined
  }

  async #sampleDisk(): Promise<void> {
    const { folder } = this.#options
    // The folder may not exist before the first recording.
    const disk = folder === undefined ? undefined : await statfs(folder).catch(() => undefined)
    this.#space = disk && { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }
  }

  #sampleNetwork(): void {
    const table = readNetworkTable()
    if (table === undefined) return
    const [before, now] = [this.#bytes, networkBytes(table)]
    this.#bytes = now
    if (!before) return
    // An interface that has gone takes its bytes with it.
    this.#network.inc({ direction: 'received' }, Math.max(0, now.received - before.received))
    this.#network.inc({ direction: 'sent' }, Math.max(0, now.sent - before.sent))
  }
}

/**
 * Reads a file of the kernel, so it does not wait for a disk: reading it in other threads would wake up five of them.
 */
function readNetworkTable(): string | undefined {
  try {
    return readFileSync('/proc/net/dev', 'utf8')
  } catch {
    return undefined
  }
}
