import 'reflect-metadata'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Controller, Module, type INestMicroservice } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { ServiceError } from '@session-service/contract'
import { from, type Observable } from 'rxjs'
import { z } from 'zod'
import type { Bus } from '../bus.js'
import { NatsServer } from '../fixtures/nats-server.js'
import { gate, Stage } from '../fixtures/stage.js'
import { until } from '../fixtures/until.js'
import { BusContext } from './bus-context.js'
import { BusController } from './bus-controller.js'
import { BusTransport, type BusBinding } from './bus-transport.js'

const Params = z.object({ n: z.number(), by: z.number().default(1) })
const Result = z.object({ n: z.number() })
const ADD = [Params, Result, 2_000] as const
const heard: string[] = []
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
    heard.push('slow begun')
    await slow.opened
    return { n: 9 }
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-arguments -- chooses the overload that takes a context
  @EventPattern<string>('news')
  news(@Payload() { n }: { n: number }, @Ctx() context: BusContext): void {
    heard.push(`one ${context.getSubject()} ${n}`)
    if (n === 13) throw new Error('unlucky')
  }
}

@BusController()
class MoreHandlers {
  @EventPattern('news')
  async news(@Payload() { n }: { n: number }): Promise<void> {
    heard.push(`two ${n}`)
  }
}

@Controller()
class PlainHandlers {
  @MessagePattern('plain')
  plain(): never {
    throw new ServiceError('CONFLICT', 'lost on the way')
  }
}

@Module({ controllers: [Handlers, MoreHandlers, PlainHandlers] })
class App {}

/** Subjects are not known before the application listens: here they hold the id of a node. */
const bindingsOf =
  (nodeId: string) =>
  (pattern: string): BusBinding =>
    pattern === 'news'
      ? { subject: `news.${nodeId}.*`, schema: z.object({ n: z.number() }) }
      : { subject: `node.${nodeId}.${pattern}`, rpc: ADD, queue: 'nodes' }

let nats: NatsServer
const stage = new Stage()
const apps: INestMicroservice[] = []
let asker: Bus
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
  heard.length = 0
  slow = gate()
  asker = await stage.bus(nats.url)
  server = await stage.bus(nats.url)
})
afterEach(async () => {
  slow.open()
  await Promise.all(apps.splice(0).map((app) => app.close()))
  await stage.clear()
})
afterAll(() => nats.kill())

describe('BusTransport', () => {
  it('calls handlers on subjects chosen when it listens, payloads checked and filled in', async () => {
    await listen(bindingsOf('n1'))
    expect(await asker.request('node.n1.add', ADD, { n: 1 })).toEqual({ n: 2 })
    expect(await asker.request('node.n1.stream', ADD, { n: 1 })).toEqual({ n: 2 })
    await expect(asker.request('node.n2.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const loose = [z.object({ n: z.unknown() }), Result, 2_000] as const
    await expect(asker.request('node.n1.add', loose, { n: 'x' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('n: '),
    })
  })

  it('keeps error codes, and details of unexpected errors to itself', async () => {
    await listen(bindingsOf('n1'))
    await expect(asker.request('node.n1.refuse', ADD, { n: 1 })).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: 'all full',
      subject: 'mediaNode',
    })
    await expect(asker.request('node.n1.break', ADD, { n: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'internal error',
    })
    expect(stage.problems).toMatchObject([{ kind: 'handler', message: 'a detail' }])
  })

  it('says what is missing when a controller lets the framework hide its errors', async () => {
    await listen(bindingsOf('n1'))
    await expect(asker.request('node.n1.plain', ADD, { n: 1 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(stage.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('@BusController()') }])
  })

  it('gives an event to every handler of its pattern, also when one fails', async () => {
    await listen(bindingsOf('n1'))
    const News = z.object({ n: z.number() })
    for (const n of [13, 14]) asker.publish('news.n1.today', News, { n })
    await until('both events are heard by both', () => heard.length === 4)
    expect(heard).toEqual(['one news.n1.today 13', 'two 13', 'one news.n1.today 14', 'two 14'])
    await until('the failure is reported', () => stage.problems.length === 1)
    expect(stage.problems).toMatchObject([{ kind: 'handler', message: 'unlucky' }])
  })

  it('stops one pattern while the others go on', async () => {
    const transport = await listen(bindingsOf('n1'))
    await transport.stop('add')
    await expect(asker.request('node.n1.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await asker.request('node.n1.stream', ADD, { n: 1 })).toEqual({ n: 2 })
    await transport.stop('no such pattern')
  })

  it('waits for handlers in flight when the application closes, and leaves the bus open', async () => {
    await listen(bindingsOf('n1'))
    const answer = asker.request('node.n1.slow', ADD, { n: 1 }, { timeoutMs: 60_000 })
    await until('the handler has begun', () => heard.length === 1)
    let isClosed = false
    const closed = apps[0]?.close().then(() => (isClosed = true))
    await asker.flush()
    expect(isClosed).toBe(false)
    slow.open()
    expect(await answer).toEqual({ n: 9 })
    await closed
    expect(server.connected).toBe(true)
    await expect(asker.request('node.n1.add', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each([
    ['news', 'needs a schema', { subject: 'x', rpc: ADD }],
    ['add', 'needs an rpc', { subject: 'x', schema: Params }],
  ])('refuses to listen when the binding of "%s" is of the wrong kind', async (wrong, message, binding) => {
    const bind = (pattern: string): BusBinding => (pattern === wrong ? binding : bindingsOf('n1')(pattern))
    await expect(listen(bind)).rejects.toThrow(message)
    await expect(asker.request('node.n1.stream', ADD, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('tells of the state of the bus', async () => {
    const transport = await listen(bindingsOf('n1'))
    const states: boolean[] = []
    transport.on('status', (connected) => states.push(connected))
    expect(transport.unwrap()).toBe(server)
    await server.close()
    expect(states).toEqual([false])
  })
})
