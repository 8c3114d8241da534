import 'reflect-metadata'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Controller, Module, type INestMicroservice } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { from, type Observable } from 'rxjs'
import { z } from 'zod'
import type { Bus } from '../bus/bus.js'
import { NatsServer } from '../fixtures/nats-server.js'
import { gate, TestBuses } from '../fixtures/test-buses.js'
import { BusContext } from './bus-context.js'
import { BusController } from './bus-controller.js'
import { BusTransport, type BusBinding } from './bus-transport.js'

const Params = z.object({ n: z.number(), by: z.number().default(1) })
const Result = z.object({ n: z.number() })
const ADD = [Params, Result, 2_000] as const
const received: string[] = []
let slow = gate()

@BusController()
class Handlers {
  @MessagePattern('add')
  add(@Payload() { n, by }: z.output<typeof Params>): { n: number } {
    return { n: n + by }
  }

  @MessagePattern('refuse')
  async refuse(): Promise<never> {
    throw new ServiceError('NO_CAPACITY', 'all full', { subject: 'mediaNode' })
  }

  @MessagePattern('break')
  break(): never {
    throw new Error('a detail')
  }

  @MessagePattern('stream')
  stream(): Observable<{ n: number }> {
    return from([{ n: 1 }, { n: 2 }])
  }

  @MessagePattern('slow')
  async slow(): Promise<{ n: number }> {
    received.push('slow begun')
    await slow.opened
    return { n: 9 }
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-arguments -- chooses the overload that takes a context
  @EventPattern<string>('news')
  news(@Payload() { n }: { n: number }, @Ctx() context: BusContext): void {
    received.push(`one ${context.getSubject()} ${n}`)
    if (n === 13) throw new Error('unlucky')
  }
}

@BusController()
class MoreHandlers {
  @EventPattern('news')
  async news(@Payload() { n }: { n: number }): Promise<void> {
    received.push(`two ${n}`)
  }
}

@Controller()
class PlainHandlers {
  @MessagePattern('plain')
  plain(): never {
    throw new ServiceError('CONFLICT', 'lost')
  }
}

@Module({ controllers: [Handlers, MoreHandlers, PlainHandlers] })
class App {}

/** Subjects that contain the id of a node, which is not known before the application listens. */
const bindingsOf =
  (nodeId: string) =>
  (pattern: string): BusBinding =>
    pattern === 'news'
      ? { subject: `news.${nodeId}.*`, schema: z.object({ n: z.number() }) }
      : { subject: `node.${nodeId}.${pattern}`, rpc: ADD, queue: 'nodes' }

let nats: NatsServer
const buses = new TestBuses()
const apps: INestMicroservice[] = []
let client: Bus
let server: Bus

async function listen(bind: (pattern: string) => BusBinding): Promise<BusTransport> {
  const strategy = new BusTransport({ bus: server, bind })
  const app = await NestFactory.createMicroservice(App, { strategy, logger: false })
  apps.push(app)
  await app.listen()
  return strategy
}

beforeAll(async () => {
  nats = await NatsServer.start()
})
beforeEach(async () => {
  received.length = 0
  slow = gate()
  client = await buses.connect(nats.url)
  server = await buses.connect(nats.url)
})
afterEach(async () => {
  slow.open()
  await Promise.all(apps.splice(0).map((app) => app.close()))
  await buses.clear()
})
afterAll(() => nats.kill())

describe('BusTransport', () => {
  it('calls handlers on the subjects of its binding, with validated payloads', async () => {
    await listen(bindingsOf('n1'))
    expect(await client.request('node.n1.add', ADD, { n: 1 })).toEqual({ n: 2 })
    expect(await client.request('node.n1.stream', ADD, { n: 1 })).toEqual({ n: 2 })
    await expect(client.request('node.n2.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const loose = [z.object({ n: z.unknown() }), Result, 2_000] as const
    await expect(client.request('node.n1.add', loose, { n: 'x' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('n: '),
    })
  })

  it('transfers error codes, and hides details of unexpected errors', async () => {
    await listen(bindingsOf('n1'))
    await expect(client.request('node.n1.refuse', ADD, { n: 1 })).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: 'all full',
      subject: 'mediaNode',
    })
    await expect(client.request('node.n1.break', ADD, { n: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'internal error',
    })
    expect(buses.problems).toMatchObject([{ kind: 'handler', message: 'a detail' }])
  })

  it('reports a controller without @BusController() when its handler fails', async () => {
    await listen(bindingsOf('n1'))
    await expect(client.request('node.n1.plain', ADD, { n: 1 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(buses.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('@BusController()') }])
  })

  it('passes an event to every handler of its pattern, also when one fails', async () => {
    await listen(bindingsOf('n1'))
    const News = z.object({ n: z.number() })
    for (const n of [13, 14]) client.publish('news.n1.today', News, { n })
    await until('both handlers have received both events', () => received.length === 4)
    expect(received).toEqual(['one news.n1.today 13', 'two 13', 'one news.n1.today 14', 'two 14'])
    await until('the failure is reported', () => buses.problems.length === 1)
    expect(buses.problems).toMatchObject([{ kind: 'handler', message: 'unlucky' }])
  })

  it('unsubscribes one pattern and keeps the others', async () => {
    const transport = await listen(bindingsOf('n1'))
    await transport.stop('add')
    await expect(client.request('node.n1.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await client.request('node.n1.stream', ADD, { n: 1 })).toEqual({ n: 2 })
    await transport.stop('no such pattern')
  })

  it('waits for handlers in flight when the application closes, and leaves the bus open', async () => {
    await listen(bindingsOf('n1'))
    const answer = client.request('node.n1.slow', ADD, { n: 1 }, { timeoutMs: 60_000 })
    await until('the handler has begun', () => received.length === 1)
    let isClosed = false
    const closed = apps[0]?.close().then(() => (isClosed = true))
    await client.flush()
    expect(isClosed).toBe(false)
    slow.open()
    expect(await answer).toEqual({ n: 9 })
    await closed
    expect(server.connected).toBe(true)
    await expect(client.request('node.n1.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each([
    ['news', 'needs a schema', { subject: 'x', rpc: ADD }],
    ['add', 'needs an rpc', { subject: 'x', schema: Params }],
  ])('does not listen when the binding of "%s" has the wrong kind', async (wrong, message, binding) => {
    const bind = (pattern: string): BusBinding => (pattern === wrong ? binding : bindingsOf('n1')(pattern))
    await expect(listen(bind)).rejects.toThrow(message)
    await expect(client.request('node.n1.stream', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('reports changes of the connection status of the bus', async () => {
    const transport = await listen(bindingsOf('n1'))
    const states: boolean[] = []
    transport.on('status', (connected) => states.push(connected))
    expect(transport.unwrap()).toBe(server)
    await server.close()
    expect(states).toEqual([false])
  })
})
