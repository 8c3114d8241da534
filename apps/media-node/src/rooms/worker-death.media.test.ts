import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { freePorts, until } from '@session-service/local-stack'
import { NO_MEDIA } from './media-counts.js'
import { MediaStack } from './fixtures/media-stack.js'
import { publication } from './fixtures/samples.js'
import { WorkerPool } from '../workers/worker-pool.js'

let stack: MediaStack | undefined
afterEach(async () => {
  await stack?.stop()
  stack = undefined
})

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a worker', () => {
  it('that is killed loses its own rooms only, reports them once, and is restarted', async () => {
    stack = await MediaStack.start({ size: 2 })
    const { service, pool, lost } = stack
    for (const roomId of ['a', 'b', 'c', 'd']) {
      await stack.join(roomId, 'con')
      await service.publish(publication(roomId, 'con', 'str'))
    }
    const victim = service.rooms.get('a').routers[0]!.worker
    const doomed = [...service.rooms].filter((room) => room.usesWorker(victim)).map(({ id }) => id)
    const others = service.rooms.ids.filter((id) => !doomed.includes(id))
    expect(doomed).toHaveLength(2)
    process.kill(victim.worker.pid, 'SIGKILL')
    await until('the loss is reported', () => lost.length > 0)
    expect(service.rooms.ids).toEqual(others)
    expect(service.counts).toEqual({
      connections: 2,
      transports: 4,
      streams: 2,
      consumers: 0,
      cameras: 0,
      transcodings: 0,
      videoFilters: 0,
      audioFilters: 0,
    })
    await until('the worker is back', () => pool.workers.size === 2)
    await stack.join('a', 'con')
    expect(await stack.inside('a')).toMatchObject({ transports: 2 })
    expect(lost).toEqual([doomed])
  })

  it('that is frozen is killed and restarted', async () => {
    // Enough ticks for a healthy worker that waits for the CPU.
    stack = await MediaStack.start({ watchdog: { tickMs: 50, maxUnanswered: 40 } })
    const { lost, pool } = stack
    await stack.join('room', 'con')
    const { pid } = pool.pick().worker
    process.kill(pid, 'SIGSTOP')
    pool.probe()
    await until('the frozen worker is given up', () => lost.length > 0)
    expect(lost).toEqual([['room']])
    expect(isAlive(pid)).toBe(false)
    await until('another worker takes its place', () => pool.workers.size === 1)
    await stack.join('room', 'con')
    expect(pool.pick().worker.pid).not.toBe(pid)
  })

  it('fails the commands that wait for it', async () => {
    stack = await MediaStack.start()
    await stack.join('room', 'con')
    const { pid } = stack.pool.pick().worker
    process.kill(pid, 'SIGSTOP')
    const publishing = stack.service.publish(publication('room', 'con', 'str'))
    process.kill(pid, 'SIGKILL')
    await expect(publishing).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(stack.service.counts).toEqual(NO_MEDIA)
  })

  it('that has died leaves no capacity until it is restarted', async () => {
    stack = await MediaStack.start()
    const { pool } = stack
    process.kill(pool.pick().worker.pid, 'SIGKILL')
    await until('the worker is gone', () => pool.workers.size === 0)
    await expect(stack.join('room', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    await until('the worker is back', () => pool.workers.size === 1)
    await stack.join('room', 'con')
  })

  it('keeps its port across a restart', async () => {
    const port = async (): Promise<number> => (await stack!.join('room', 'con')).sendTransport.iceCandidates[0]!.port
    const [firstPort = 0] = await freePorts(1)
    stack = await MediaStack.start({ firstPort })
    expect(await port()).toBe(firstPort)
    process.kill(stack.pool.pick().worker.pid, 'SIGKILL')
    await until('the worker is back', () => stack!.lost.length > 0 && stack!.pool.workers.size === 1)
    expect(await port()).toBe(firstPort)
  })
})

const bind = (socket: Socket, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once('error', () => resolve(false))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })

describe('the pool', () => {
  it('retries when the restart of a worker fails', async () => {
    const lines: unknown[] = []
    const write = (...parts: unknown[]): void => void lines.push(parts)
    Logger.overrideLogger({ log: write, error: write, warn: write })
    const [firstPort = 0] = await freePorts(1)
    stack = await MediaStack.start({ firstPort })
    const { pool } = stack
    const squatter = createSocket('udp4')
    await until('the port is taken from the worker', () => {
      for (const worker of pool.workers) worker.kill()
      return bind(squatter, firstPort)
    })
    await until('a start fails', () => JSON.stringify(lines).includes('restarting a media worker failed'))
    expect(pool.workers.size).toBe(0)
    squatter.close()
    await until('the worker is back', () => pool.workers.size === 1)
  })

  it('accepts no rooms during a crash loop, and accepts them again when its workers are stable', async () => {
    stack = await MediaStack.start({ size: 2, crashLoop: { deaths: 3, withinMs: 60_000, stableMs: 3_000 } })
    const { pool, lost } = stack
    await stack.join('room', 'con')
    for (let deaths = 1; deaths <= 3; deaths += 1) {
      const victim = await until('a worker is there', () => [...pool.workers].at(-1))
      victim.kill()
      await until('its death is noticed', () => lost.length === deaths)
    }
    expect(pool.usable).toBe(0)
    await expect(stack.join('new', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    await until('they have lived long enough', () => pool.usable === 2)
    await stack.join('new', 'con')
  })

  it('leaves no process behind, not even a frozen one', async () => {
    const pool = new WorkerPool({ size: 2, listenIp: '127.0.0.1', firstPort: 0 })
    await pool.start()
    const pids = [...pool.workers].map(({ worker }) => worker.pid)
    process.kill(pids[0]!, 'SIGSTOP')
    await pool.close()
    expect(pids.map(isAlive)).toEqual([false, false])
  })

  it('names the port that it cannot listen on, and leaves no process running', async () => {
    const pool = new WorkerPool({ size: 2, listenIp: '192.0.2.1', firstPort: 0 })
    await expect(pool.start()).rejects.toThrow(/media worker \d cannot listen for media: .*192\.0\.2\.1/)
    expect(pool.workers.size).toBe(0)
  })

  it('does not handle signals of the process', async () => {
    const listeners = (): number => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT')
    const before = listeners()
    stack = await MediaStack.start({ size: 2 })
    expect(listeners()).toBe(before)
  })
})
