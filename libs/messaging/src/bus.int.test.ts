import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '@nats-io/transport-node'
import { busScope, DEFAULT_BUS_CLUSTER, ERROR_CODES, ServiceError } from '@session-service/contract'
import { z } from 'zod'
import { NatsServer } from './fixtures/nats-server.js'
import { gate, Stage } from './fixtures/stage.js'
import { until } from './fixtures/until.js'

const Params = z.object({ count: z.number().int(), note: z.string().default('none') })
const Result = z.object({ next: z.number(), tags: z.array(z.string()).default([]) })
const NEXT = [Params, Result, 2_000] as const
const Message = z.object({ n: z.number() })
const { prefix: PREFIX } = busScope(DEFAULT_BUS_CLUSTER, 'master')

let nats: NatsServer
const stage = new Stage()
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(() => stage.clear())
afterAll(() => nats.kill())

describe('request', () => {
  it('carries params and result through their schemas, defaults filled in on both sides', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('next', NEXT, ({ count, note }) => ({ next: count + note.length }))
    expect(await bus.request('next', NEXT, { count: 1 })).toEqual({ next: 5, tags: [] })
  })

  it('goes from one process to another and back, many at once', async () => {
    const [asker, server] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    server.serve('next', NEXT, async ({ count }) => ({ next: count + 1 }))
    await server.flush()
    const answers = await Promise.all(Array.from({ length: 500 }, (_, count) => asker.request('next', NEXT, { count })))
    expect(answers.map(({ next }) => next)).toEqual(Array.from({ length: 500 }, (_, count) => count + 1))
  })

  it.each(ERROR_CODES)('keeps the code %s, the message and what it is about', async (code) => {
    const bus = await stage.bus(nats.url)
    bus.serve('fail', NEXT, () => {
      throw new ServiceError(code, 'für "alle":\r\nvoll', { subject: 'stream' })
    })
    const error = await bus.request('fail', NEXT, { count: 1 }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ code, message: 'für "alle":\r\nvoll', subject: 'stream' })
  })

  it('answers an unexpected error with INTERNAL and tells nobody but the log what it was', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('fail', NEXT, () => Promise.reject(new Error('password is 1234')))
    await expect(bus.request('fail', NEXT, { count: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'internal error',
    })
    expect(stage.problems).toMatchObject([{ kind: 'handler', subject: 'fail', message: 'password is 1234' }])
  })

  it('refuses wrong params before they are sent, naming the field', async () => {
    const bus = await stage.bus(nats.url)
    let calls = 0
    bus.serve('next', NEXT, () => ({ next: (calls += 1) }))
    await expect(bus.request('next', NEXT, { count: 1.5 })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('count: '),
    })
    expect(calls).toBe(0)
  })

  it('answers wrong params from elsewhere with INVALID, naming every field', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('next', NEXT, () => ({ next: 1 }))
    const loose = [z.object({}).loose(), Result, 2_000] as const
    await expect(bus.request('next', loose, { count: 'x', note: 1 })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/count: .*; note: /),
    })
    expect(stage.kinds()).toEqual(['poison'])
  })

  it('answers INTERNAL when the handler gives what the schema does not allow', async () => {
    const bus = await stage.bus(nats.url)
    const loose = [Params, z.object({}).loose(), 2_000] as const
    bus.serve('next', NEXT, () => ({ next: Number.NaN }))
    await expect(bus.request('next', loose, { count: 1 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(stage.problems).toMatchObject([{ kind: 'answer', message: expect.stringContaining('next: ') }])
  })

  it('is INTERNAL when the answer is not what the asker understands', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('next', [Params, z.object({ other: z.number() }), 2_000], () => ({ other: 1 }))
    await expect(bus.request('next', NEXT, { count: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('next: '),
    })
  })

  it('is TIMEOUT when no answer comes by the deadline, and a late answer harms nobody', async () => {
    const bus = await stage.bus(nats.url)
    const { opened, open } = gate()
    bus.serve('slow', NEXT, async () => {
      await opened
      return { next: 1 }
    })
    await expect(bus.request('slow', NEXT, { count: 1 }, { timeoutMs: 30 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('slow'),
    })
    open()
    expect(await bus.request('slow', NEXT, { count: 1 })).toMatchObject({ next: 1 })
    expect(stage.problems).toEqual([])
  })

  it('is UNAVAILABLE when nobody listens, long before its deadline', async () => {
    const bus = await stage.bus(nats.url)
    await expect(bus.request('nobody', NEXT, { count: 1 }, { timeoutMs: 3_600_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('nobody'),
    })
  })

  it('is INVALID when it is larger than the bus allows, and the connection stays', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('next', NEXT, ({ count }) => ({ next: count, tags: count > 1 ? ['x'.repeat(2 ** 21)] : [] }))
    const note = 'x'.repeat(2 ** 21)
    await expect(bus.request('next', NEXT, { count: 1, note })).rejects.toMatchObject({ code: 'INVALID' })
    await expect(bus.request('next', NEXT, { count: 2 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(await bus.request('next', NEXT, { count: 1 })).toMatchObject({ next: 1 })
  })
})

describe('serve and subscribe', () => {
  it('share requests among a queue group, each to one member', async () => {
    const [first, second, asker] = [await stage.bus(nats.url), await stage.bus(nats.url), await stage.bus(nats.url)]
    const handled: string[] = []
    first.serve('work', NEXT, ({ count }) => ({ next: handled.push(`first ${count}`) }), { queue: 'q' })
    second.serve('work', NEXT, ({ count }) => ({ next: handled.push(`second ${count}`) }), { queue: 'q' })
    await Promise.all([first.flush(), second.flush()])
    await Promise.all(Array.from({ length: 200 }, (_, count) => asker.request('work', NEXT, { count })))
    expect(handled).toHaveLength(200)
    expect(new Set(handled.map((line) => line.split(' ')[0]))).toEqual(new Set(['first', 'second']))
  })

  it('give messages to every subscriber in order, with the subject they came on', async () => {
    const [sender, hearer, other] = [await stage.bus(nats.url), await stage.bus(nats.url), await stage.bus(nats.url)]
    const heard: string[] = []
    let others = 0
    hearer.subscribe('news.*', Message, ({ n }, subject) => void heard.push(`${subject} ${n}`))
    other.subscribe('news.>', Message, () => void (others += 1))
    await Promise.all([hearer.flush(), other.flush()])
    for (let n = 0; n < 100; n += 1) expect(sender.publish(`news.${n % 3}`, Message, { n })).toBe(true)
    await until('all news are heard', () => heard.length === 100 && others === 100)
    expect(heard).toEqual(Array.from({ length: 100 }, (_, n) => `news.${n % 3} ${n}`))
  })

  it('refuse to publish what the schema does not allow', async () => {
    const bus = await stage.bus(nats.url)
    expect(() => bus.publish('news', Message, { n: Number.NaN })).toThrow(/^n: /)
  })

  it('outlive every kind of poison, which is reported', async () => {
    const bus = await stage.bus(nats.url)
    const raw = await connect({ servers: nats.url })
    const heard: number[] = []
    bus.subscribe('news', Message, ({ n }) => void heard.push(n))
    bus.serve('next', NEXT, ({ count }) => ({ next: count + 1 }))
    await bus.flush()
    const poison = ['', '{', 'null', '[]', '"text"', '{"n":"1","count":"1"}', '['.repeat(100_000)]
    const bytes = [new Uint8Array([0xff, 0xfe, 0x00]), new Uint8Array(1_000)]
    for (const subject of ['news', 'next'])
      for (const payload of [...poison, ...bytes]) raw.publish(PREFIX + subject, payload)
    raw.publish(`${PREFIX}news`, '{"n":7,"extra":true}')
    await raw.drain()
    await until('the good message after the poison is heard', () => heard.length > 0)
    expect(heard).toEqual([7])
    expect(stage.kinds()).toEqual(Array.from({ length: 18 }, () => 'poison'))
    expect(await bus.request('next', NEXT, { count: 1 })).toMatchObject({ next: 2 })
  })

  it('outlive failing handlers, which are reported', async () => {
    const bus = await stage.bus(nats.url)
    const heard: number[] = []
    bus.subscribe('news', Message, async ({ n }) => {
      if (n === 1) throw new Error('sync or not')
      heard.push(n)
    })
    for (const n of [0, 1, 2]) bus.publish('news', Message, { n })
    await until('the others are heard', () => heard.length === 2)
    expect(stage.problems).toMatchObject([{ kind: 'handler', subject: 'news', message: 'sync or not' }])
  })

  it('take no more after stop, while what was taken or sent before is finished', async () => {
    const [asker, server] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const { opened, open } = gate()
    let taken = 0
    const subscription = server.serve('slow', NEXT, async ({ count }) => {
      taken += 1
      await opened
      return { next: count }
    })
    await server.flush()
    const asked = Array.from({ length: 20 }, (_, count) =>
      asker.request('slow', NEXT, { count }, { timeoutMs: 60_000 }),
    )
    const outcomes = Promise.allSettled(asked)
    await until('one is taken', () => taken > 0)
    // All have been sent.
    await asker.flush()
    const stopped = subscription.stop()
    open()
    await stopped
    const codes = (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? 'done' : String(outcome.reason)))
    expect(codes).toEqual(Array.from({ length: 20 }, () => 'done'))
    await expect(asker.request('slow', NEXT, { count: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

describe('close', () => {
  it('waits for handlers in flight, whose answers still arrive', async () => {
    const [asker, server] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const { opened, open } = gate()
    let isTaken = false
    server.serve('slow', NEXT, async () => {
      isTaken = true
      await opened
      // What a handler needs itself to finish is still there.
      return asker.request('helper', NEXT, { count: 1 })
    })
    asker.serve('helper', NEXT, () => ({ next: 42 }))
    await Promise.all([server.flush(), asker.flush()])
    const answer = asker.request('slow', NEXT, { count: 1 }, { timeoutMs: 60_000 })
    await until('the handler has begun', () => isTaken)
    let isClosed = false
    const closed = server.close().then(() => (isClosed = true))
    await asker.flush()
    expect(isClosed).toBe(false)
    open()
    expect(await answer).toMatchObject({ next: 42 })
    await closed
    expect(server.connected).toBe(false)
  })

  it('waits for message handlers too, and may be called twice', async () => {
    const bus = await stage.bus(nats.url)
    const { opened, open } = gate()
    const steps: string[] = []
    bus.subscribe('news', Message, async () => {
      steps.push('begun')
      await opened
      steps.push('done')
    })
    bus.publish('news', Message, { n: 1 })
    await until('the handler has begun', () => steps.length === 1)
    const both = Promise.all([bus.close(), bus.close()]).then(() => steps.push('closed'))
    open()
    await both
    expect(steps).toEqual(['begun', 'done', 'closed'])
  })

  it('gives up on a handler that does not end by the deadline, and says so', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('stuck', NEXT, () => new Promise(() => undefined))
    const refused = expect(bus.request('stuck', NEXT, { count: 1 }, { timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
    await bus.flush()
    await bus.close(50)
    await refused
    expect(stage.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('stuck') }])
  })

  it('leaves a bus that refuses everything', async () => {
    const bus = await stage.bus(nats.url)
    bus.serve('next', NEXT, ({ count }) => ({ next: count }))
    await bus.close()
    await expect(bus.request('next', NEXT, { count: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(bus.publish('news', Message, { n: 1 })).toBe(false)
    expect(() => bus.subscribe('news', Message, () => undefined)).toThrow(/closed/)
    await expect(bus.flush()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
