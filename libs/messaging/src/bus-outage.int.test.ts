import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import type { Bus } from './bus.js'
import { NatsServer } from './fixtures/nats-server.js'
import { gate, Stage } from './fixtures/stage.js'
import { until } from './fixtures/until.js'

const AN_HOUR = 3_600_000
const Message = z.object({ n: z.number() })
const ECHO = [Message, Message, 2_000] as const
const SILENT = [Message, Message, AN_HOUR] as const

let nats: NatsServer
const stage = new Stage()
beforeEach(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  // The server first: it must not outlive a bus that cannot be closed.
  await nats.kill()
  await stage.clear()
})

/** Publishes one message and gives how often each handler got it, once a later message has made the rounds. */
async function deliveries(sender: Bus, heard: readonly number[], n: number): Promise<number> {
  sender.publish('news', Message, { n })
  sender.publish('news', Message, { n: -n })
  await until(`the message after ${n} is heard`, () => heard.includes(-n))
  return heard.filter((one) => one === n).length
}

describe('a server killed and started again', () => {
  it('costs what is in flight at once, and leaves exactly one set of handlers each time', async () => {
    const [sender, hearer] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const statuses: boolean[] = []
    const unsubscribe = sender.onStatus((connected) => statuses.push(connected))
    const heard: number[] = []
    let echoed = 0
    hearer.subscribe('news', Message, ({ n }) => void heard.push(n))
    hearer.serve('echo', ECHO, (message) => {
      echoed += 1
      return message
    })
    const { opened, open } = gate()
    let taken = 0
    hearer.serve('silent', SILENT, async (message) => {
      taken += 1
      await opened
      return message
    })
    await hearer.flush()
    for (let round = 1; round <= 3; round += 1) {
      const lost = expect(sender.request('silent', SILENT, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await until('the request is in flight', () => taken === round)
      await nats.kill()
      await lost
      await until('both know of the loss', () => !sender.connected && !hearer.connected)
      await expect(sender.request('echo', ECHO, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      expect(sender.publish('news', Message, { n: 1_000 })).toBe(false)
      await expect(sender.flush()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await nats.up()
      await until('both are back', () => sender.connected && hearer.connected)
      await hearer.flush()
      expect(await deliveries(sender, heard, round)).toBe(1)
      expect(await sender.request('echo', ECHO, { n: round })).toEqual({ n: round })
      expect(echoed).toBe(round)
    }
    expect(heard).not.toContain(1_000)
    expect(statuses).toEqual([false, true, false, true, false, true])
    open()
    unsubscribe()
    await sender.close()
    expect(statuses).toHaveLength(6)
  })

  it('finds subscriptions that were made or stopped meanwhile as they should be', async () => {
    const [sender, hearer] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const [early, late, stopped]: number[][] = [[], [], []] as const
    hearer.subscribe('news', Message, ({ n }) => void early?.push(n))
    const toStop = hearer.subscribe('news', Message, ({ n }) => void stopped?.push(n))
    const toStopServing = hearer.serve('echo', ECHO, (message) => message)
    await hearer.flush()
    await nats.kill()
    await until('both know of the loss', () => !sender.connected && !hearer.connected)
    hearer.subscribe('news', Message, ({ n }) => void late?.push(n))
    await Promise.all([toStop.stop(), toStopServing.stop()])
    await nats.up()
    await until('both are back', () => sender.connected && hearer.connected)
    await hearer.flush()
    expect(await deliveries(sender, late ?? [], 5)).toBe(1)
    expect(early?.filter((n) => n === 5)).toHaveLength(1)
    expect(stopped).toEqual([])
    await expect(sender.request('echo', ECHO, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('is waited for at the start', async () => {
    await nats.kill()
    let isConnected = false
    const connecting = stage.bus(nats.url).then((bus) => {
      isConnected = true
      return bus
    })
    await until('the wait is reported', () => stage.kinds().includes('connection'))
    expect(isConnected).toBe(false)
    await nats.up()
    const bus = await connecting
    bus.serve('echo', ECHO, (message) => message)
    expect(await bus.request('echo', ECHO, { n: 3 })).toEqual({ n: 3 })
  })

  it('can be given up waiting for', async () => {
    await nats.kill()
    const giveUp = new AbortController()
    const connecting = stage.bus(nats.url, { signal: giveUp.signal })
    giveUp.abort(new Error('enough'))
    await expect(connecting).rejects.toThrow()
  })

  it('does not keep a bus from closing', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('echo', ECHO, (message) => message)
    await nats.kill()
    await until('the loss is known', () => !bus.connected)
    await bus.close()
    expect(bus.connected).toBe(false)
  })
})

describe('a server frozen with its socket open', () => {
  it('is found out by pings: what is in flight ends, and all goes on when it thaws', async () => {
    const [sender, hearer] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const heard: number[] = []
    hearer.subscribe('news', Message, ({ n }) => void heard.push(n))
    const { opened, open } = gate()
    let isTaken = false
    hearer.serve('silent', SILENT, async (message) => {
      isTaken = true
      await opened
      return message
    })
    await hearer.flush()
    const inFlight = expect(sender.request('silent', SILENT, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await until('the request is in flight', () => isTaken)
    nats.freeze()
    await until('both know that it is gone', () => !sender.connected && !hearer.connected)
    await inFlight
    open()
    nats.thaw()
    await until('both are back', () => sender.connected && hearer.connected)
    await hearer.flush()
    expect(await deliveries(sender, heard, 9)).toBe(1)
  })

  it('does not keep a bus from closing', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('echo', ECHO, (message) => message)
    await bus.flush()
    nats.freeze()
    await bus.close()
    expect(bus.connected).toBe(false)
  })
})

describe('an address', () => {
  it('with user and password is used, and the right one awaited', async () => {
    const guarded = await NatsServer.start('--user', 'us&er', '--pass', 'p@ss')
    try {
      const address = guarded.url.replace('//', `//${encodeURIComponent('us&er')}:${encodeURIComponent('p@ss')}@`)
      const bus = await stage.bus(`${address}, ${nats.url}`)
      await bus.flush()
      const giveUp = new AbortController()
      const refused = stage.bus(guarded.url, { signal: giveUp.signal })
      await until('the refusal is reported', () => stage.problems.some(({ message }) => /authori/i.test(message)))
      giveUp.abort(new Error('enough'))
      await expect(refused).rejects.toThrow()
    } finally {
      await guarded.kill()
    }
  })

  it('that is no URL is refused at once', async () => {
    await expect(stage.bus('nats://')).rejects.toMatchObject({ code: 'INVALID' })
  })
})
