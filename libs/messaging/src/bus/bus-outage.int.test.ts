import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import type { Bus } from './bus.js'
import { NatsServer } from '../fixtures/nats-server.js'
import { gate, TestBuses } from '../fixtures/test-buses.js'
import { until } from '@session-service/local-stack'

const AN_HOUR = 3_600_000
const Message = z.object({ n: z.number() })
const ECHO = [Message, Message, 2_000] as const
const SILENT = [Message, Message, AN_HOUR] as const

let nats: NatsServer
const buses = new TestBuses()
beforeEach(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  // The server first: it must end even when a bus cannot be closed.
  await nats.kill()
  await buses.clear()
})

/** Publishes a message and a later one; returns how often the first was received once the later one has arrived. */
async function deliveries(sender: Bus, received: readonly number[], n: number): Promise<number> {
  sender.publish('news', Message, { n })
  sender.publish('news', Message, { n: -n })
  await until(`the message after ${n} is received`, () => received.includes(-n))
  return received.filter((one) => one === n).length
}

describe('a bus whose server is killed and restarted', () => {
  it('fails requests in flight immediately, and has each handler exactly once after every restart', async () => {
    const [sender, receiver] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const statuses: boolean[] = []
    const unsubscribe = sender.onStatus((connected) => statuses.push(connected))
    const received: number[] = []
    let echoed = 0
    receiver.subscribe('news', Message, ({ n }) => void received.push(n))
    receiver.serve('echo', ECHO, (message) => {
      echoed += 1
      return message
    })
    const { opened, open } = gate()
    let taken = 0
    receiver.serve('silent', SILENT, async (message) => {
      taken += 1
      await opened
      return message
    })
    await receiver.flush()
    for (let round = 1; round <= 3; round += 1) {
      const lost = expect(sender.request('silent', SILENT, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await until('the request is in flight', () => taken === round)
      await nats.kill()
      await lost
      await until('both detect the loss', () => !sender.connected && !receiver.connected)
      await expect(sender.request('echo', ECHO, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(sender.publish('news', Message, { n: 1_000 })).toBe(false)
      await expect(sender.flush()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await nats.up()
      await until('both are connected', () => sender.connected && receiver.connected)
      await receiver.flush()
      expect(await deliveries(sender, received, round)).toBe(1)
      expect(await sender.request('echo', ECHO, { n: round })).toEqual({ n: round })
      expect(echoed).toBe(round)
    }
    expect(received).not.toContain(1_000)
    expect(statuses).toEqual([false, true, false, true, false, true])
    open()
    unsubscribe()
    await sender.close()
    expect(statuses).toHaveLength(6)
  })

  it('applies subscriptions and unsubscriptions of the outage after the restart', async () => {
    const [sender, receiver] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const [early, late, stopped]: number[][] = [[], [], []] as const
    receiver.subscribe('news', Message, ({ n }) => void early?.push(n))
    const toStop = receiver.subscribe('news', Message, ({ n }) => void stopped?.push(n))
    const toStopServing = receiver.serve('echo', ECHO, (message) => message)
    await receiver.flush()
    await nats.kill()
    await until('both detect the loss', () => !sender.connected && !receiver.connected)
    receiver.subscribe('news', Message, ({ n }) => void late?.push(n))
    await Promise.all([toStop.stop(), toStopServing.stop()])
    await nats.up()
    await until('both are connected', () => sender.connected && receiver.connected)
    await receiver.flush()
    expect(await deliveries(sender, late ?? [], 5)).toBe(1)
    expect(early?.filter((n) => n === 5)).toHaveLength(1)
    expect(stopped).toEqual([])
    await expect(sender.request('echo', ECHO, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('retries the first connection until the server runs', async () => {
    await nats.kill()
    let isConnected = false
    const connecting = buses.connect(nats.url).then((bus) => {
      isConnected = true
      return bus
    })
    await until('the failed attempt is reported', () => buses.problemKinds().includes('connection'))
    expect(isConnected).toBe(false)
    await nats.up()
    const bus = await connecting
    bus.serve('echo', ECHO, (message) => message)
    expect(await bus.request('echo', ECHO, { n: 3 })).toEqual({ n: 3 })
  })

  it('stops retrying the first connection when the signal is aborted', async () => {
    await nats.kill()
    const abort = new AbortController()
    const connecting = buses.connect(nats.url, { signal: abort.signal })
    abort.abort(new Error('aborted'))
    await expect(connecting).rejects.toThrow()
  })

  it('can be closed while the server is down', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('echo', ECHO, (message) => message)
    await nats.kill()
    await until('the loss is detected', () => !bus.connected)
    await bus.close()
    expect(bus.connected).toBe(false)
  })
})

describe('a bus whose server is frozen with its socket open', () => {
  it('detects it by pings, fails requests in flight, and reconnects when the server resumes', async () => {
    const [sender, receiver] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const received: number[] = []
    receiver.subscribe('news', Message, ({ n }) => void received.push(n))
    const { opened, open } = gate()
    let isTaken = false
    receiver.serve('silent', SILENT, async (message) => {
      isTaken = true
      await opened
      return message
    })
    await receiver.flush()
    const inFlight = expect(sender.request('silent', SILENT, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await until('the request is in flight', () => isTaken)
    nats.freeze()
    await until('both detect the loss', () => !sender.connected && !receiver.connected)
    await inFlight
    open()
    nats.thaw()
    await until('both are connected', () => sender.connected && receiver.connected)
    await receiver.flush()
    expect(await deliveries(sender, received, 9)).toBe(1)
  })

  it('can be closed while the server is frozen', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('echo', ECHO, (message) => message)
    await bus.flush()
    nats.freeze()
    await bus.close()
    expect(bus.connected).toBe(false)
  })
})

describe('the address of the bus', () => {
  it('may contain user and password; connections with wrong credentials are retried', async () => {
    const guarded = await NatsServer.start('--user', 'us&er', '--pass', 'p@ss')
    try {
      const address = guarded.url.replace('//', `//${encodeURIComponent('us&er')}:${encodeURIComponent('p@ss')}@`)
      const bus = await buses.connect(`${address}, ${nats.url}`)
      await bus.flush()
      const abort = new AbortController()
      const rejected = buses.connect(guarded.url, { signal: abort.signal })
      await until('the rejection is reported', () => buses.problems.some(({ message }) => /authori/i.test(message)))
      abort.abort(new Error('aborted'))
      await expect(rejected).rejects.toThrow()
    } finally {
      await guarded.kill()
    }
  })

  it('is rejected immediately when it is not a URL', async () => {
    await expect(buses.connect('nats://')).rejects.toMatchObject({ code: 'INVALID' })
  })
})
