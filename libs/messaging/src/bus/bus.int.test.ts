import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '@nats-io/transport-node'
import { busScope, DEFAULT_BUS_CLUSTER, ERROR_CODES, ServiceError } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { z } from 'zod'
import { NatsServer } from '../fixtures/nats-server.js'
import { NotSentError } from './not-sent-error.js'
import { gate, TestBuses } from '../fixtures/test-buses.js'

const Params = z.object({ count: z.number().int(), note: z.string().default('none') })
const Result = z.object({ next: z.number(), tags: z.array(z.string()).default([]) })
const NEXT = [Params, Result, 2_000] as const
const Message = z.object({ n: z.number() })
const { prefix: PREFIX } = busScope(DEFAULT_BUS_CLUSTER, 'master')

let nats: NatsServer
const buses = new TestBuses()
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(() => buses.clear())
afterAll(() => nats.kill())

describe('request', () => {
  it('validates params and result by their schemas, which fill in defaults on both sides', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', NEXT, ({ count, note }) => ({ next: count + note.length }))
    expect(await bus.request('next', NEXT, { count: 1 })).toEqual({ next: 5, tags: [] })
  })

  it('handles many concurrent requests between two connections', async () => {
    const [client, server] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    server.serve('next', NEXT, async ({ count }) => ({ next: count + 1 }))
    await server.flush()
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, count) => client.request('next', NEXT, { count })),
    )
    expect(answers.map(({ next }) => next)).toEqual(Array.from({ length: 500 }, (_, count) => count + 1))
  })

  it.each(ERROR_CODES)('transfers the code %s, the message and the subject of an error', async (code) => {
    const bus = await buses.connect(nats.url)
    bus.serve('fail', NEXT, () => {
      throw new ServiceError(code, 'für "alle":\r\nvoll', { subject: 'stream' })
    })
    const error = await bus.request('fail', NEXT, { count: 1 }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ code, message: 'für "alle":\r\nvoll', subject: 'stream' })
  })

  it('answers an unexpected error with INTERNAL, and its details are only logged', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('fail', NEXT, () => Promise.reject(new Error('password is 1234')))
    await expect(bus.request('fail', NEXT, { count: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'internal error',
    })
    expect(buses.problems).toMatchObject([{ kind: 'handler', subject: 'fail', message: 'password is 1234' }])
  })

  it('rejects invalid params before sending them, naming the field', async () => {
    const bus = await buses.connect(nats.url)
    let calls = 0
    bus.serve('next', NEXT, () => ({ next: (calls += 1) }))
    await expect(bus.request('next', NEXT, { count: 1.5 })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('count: '),
    })
    expect(calls).toBe(0)
  })

  it('answers invalid params of another process with INVALID, naming every field', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', NEXT, () => ({ next: 1 }))
    const loose = [z.object({}).loose(), Result, 2_000] as const
    await expect(bus.request('next', loose, { count: 'x', note: 1 })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringMatching(/count: .*; note: /),
    })
    expect(buses.problemKinds()).toEqual(['poison'])
  })

  it('answers INTERNAL when the result of the handler does not match the schema', async () => {
    const bus = await buses.connect(nats.url)
    const loose = [Params, z.object({}).loose(), 2_000] as const
    bus.serve('next', NEXT, () => ({ next: Number.NaN }))
    await expect(bus.request('next', loose, { count: 1 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(buses.problems).toMatchObject([{ kind: 'answer', message: expect.stringContaining('next: ') }])
  })

  it('fails with INTERNAL when the answer does not match the schema of the client', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', [Params, z.object({ other: z.number() }), 2_000], () => ({ other: 1 }))
    await expect(bus.request('next', NEXT, { count: 1 })).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('next: '),
    })
  })

  it('fails with TIMEOUT when no answer arrives by the deadline, and ignores a late answer', async () => {
    const bus = await buses.connect(nats.url)
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
    expect(buses.problems).toEqual([])
  })

  it('fails with UNAVAILABLE without a subscriber, long before its deadline', async () => {
    const bus = await buses.connect(nats.url)
    await expect(bus.request('unserved', NEXT, { count: 1 }, { timeoutMs: 3_600_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('unserved'),
    })
  })

  it('fails with NotSentError only when no process can have received it', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', NEXT, () => Promise.reject(new ServiceError('UNAVAILABLE', 'not now')))
    const errorOf = (subject: string): Promise<unknown> =>
      bus.request(subject, NEXT, { count: 1 }).catch((error: unknown) => error)
    expect(await errorOf('unserved')).toBeInstanceOf(NotSentError)
    expect(await errorOf('next')).not.toBeInstanceOf(NotSentError)
    await bus.close()
    expect(await errorOf('next')).toBeInstanceOf(NotSentError)
  })

  it('fails with INVALID when it exceeds the maximum payload, and the connection stays open', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', NEXT, ({ count }) => ({ next: count, tags: count > 1 ? ['x'.repeat(2 ** 21)] : [] }))
    const note = 'x'.repeat(2 ** 21)
    await expect(bus.request('next', NEXT, { count: 1, note })).rejects.toMatchObject({ code: 'INVALID' })
    await expect(bus.request('next', NEXT, { count: 2 })).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(await bus.request('next', NEXT, { count: 1 })).toMatchObject({ next: 1 })
  })
})

describe('serve and subscribe', () => {
  it('distribute requests among a queue group, each to one member', async () => {
    const [first, second, client] = [
      await buses.connect(nats.url),
      await buses.connect(nats.url),
      await buses.connect(nats.url),
    ]
    const handled: string[] = []
    first.serve('work', NEXT, ({ count }) => ({ next: handled.push(`first ${count}`) }), { queue: 'q' })
    second.serve('work', NEXT, ({ count }) => ({ next: handled.push(`second ${count}`) }), { queue: 'q' })
    await Promise.all([first.flush(), second.flush()])
    await Promise.all(Array.from({ length: 200 }, (_, count) => client.request('work', NEXT, { count })))
    expect(handled).toHaveLength(200)
    expect(new Set(handled.map((line) => line.split(' ')[0]))).toEqual(new Set(['first', 'second']))
  })

  it('deliver messages to every subscriber in order, with their subject', async () => {
    const [sender, receiver, other] = [
      await buses.connect(nats.url),
      await buses.connect(nats.url),
      await buses.connect(nats.url),
    ]
    const received: string[] = []
    let others = 0
    receiver.subscribe('news.*', Message, ({ n }, subject) => void received.push(`${subject} ${n}`))
    other.subscribe('news.>', Message, () => void (others += 1))
    await Promise.all([receiver.flush(), other.flush()])
    for (let n = 0; n < 100; n += 1) expect(sender.publish(`news.${n % 3}`, Message, { n })).toBe(true)
    await until('all messages are received', () => received.length === 100 && others === 100)
    expect(received).toEqual(Array.from({ length: 100 }, (_, n) => `news.${n % 3} ${n}`))
  })

  it('reject a message that does not match the schema', async () => {
    const bus = await buses.connect(nats.url)
    expect(() => bus.publish('news', Message, { n: Number.NaN })).toThrow(/^n: /)
  })

  it('report invalid messages of every kind and continue', async () => {
    const bus = await buses.connect(nats.url)
    const raw = await connect({ servers: nats.url })
    const received: number[] = []
    bus.subscribe('news', Message, ({ n }) => void received.push(n))
    bus.serve('next', NEXT, ({ count }) => ({ next: count + 1 }))
    await bus.flush()
    const poison = ['', '{', 'null', '[]', '"text"', '{"n":"1","count":"1"}', '['.repeat(100_000)]
    const bytes = [new Uint8Array([0xff, 0xfe, 0x00]), new Uint8Array(1_000)]
    for (const subject of ['news', 'next'])
      for (const payload of [...poison, ...bytes]) raw.publish(PREFIX + subject, payload)
    raw.publish(`${PREFIX}news`, '{"n":7,"extra":true}')
    await raw.drain()
    await until('the valid message after the invalid ones is received', () => received.length > 0)
    expect(received).toEqual([7])
    expect(buses.problemKinds()).toEqual(Array.from({ length: 18 }, () => 'poison'))
    expect(await bus.request('next', NEXT, { count: 1 })).toMatchObject({ next: 2 })
  })

  it('report failing handlers and continue', async () => {
    const bus = await buses.connect(nats.url)
    const received: number[] = []
    bus.subscribe('news', Message, async ({ n }) => {
      if (n === 1) throw new Error('sync or not')
      received.push(n)
    })
    for (const n of [0, 1, 2]) bus.publish('news', Message, { n })
    await until('the other messages are received', () => received.length === 2)
    expect(buses.problems).toMatchObject([{ kind: 'handler', subject: 'news', message: 'sync or not' }])
  })

  it('take no more requests after stop, and finish those that were sent before', async () => {
    const [client, server] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const { opened, open } = gate()
    let taken = 0
    const subscription = server.serve('slow', NEXT, async ({ count }) => {
      taken += 1
      await opened
      return { next: count }
    })
    await server.flush()
    const requests = Array.from({ length: 20 }, (_, count) =>
      client.request('slow', NEXT, { count }, { timeoutMs: 60_000 }),
    )
    const outcomes = Promise.allSettled(requests)
    await until('a handler runs', () => taken > 0)
    // All requests have been sent.
    await client.flush()
    const stopped = subscription.stop()
    open()
    await stopped
    const codes = (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? 'done' : String(outcome.reason)))
    expect(codes).toEqual(Array.from({ length: 20 }, () => 'done'))
    await expect(client.request('slow', NEXT, { count: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

describe('close', () => {
  it('waits for handlers in flight, whose answers still arrive', async () => {
    const [client, server] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const { opened, open } = gate()
    let isTaken = false
    server.serve('slow', NEXT, async () => {
      isTaken = true
      await opened
      // The handler can still send requests.
      return client.request('helper', NEXT, { count: 1 })
    })
    client.serve('helper', NEXT, () => ({ next: 42 }))
    await Promise.all([server.flush(), client.flush()])
    const answer = client.request('slow', NEXT, { count: 1 }, { timeoutMs: 60_000 })
    await until('the handler has begun', () => isTaken)
    let isClosed = false
    const closed = server.close().then(() => (isClosed = true))
    await client.flush()
    expect(isClosed).toBe(false)
    open()
    expect(await answer).toMatchObject({ next: 42 })
    await closed
    expect(server.connected).toBe(false)
  })

  it('waits for message handlers too, and may be called twice', async () => {
    const bus = await buses.connect(nats.url)
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

  it('stops waiting for a handler at the deadline, and reports it', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('stuck', NEXT, () => new Promise(() => undefined))
    const rejected = expect(bus.request('stuck', NEXT, { count: 1 }, { timeoutMs: 60_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
    await bus.flush()
    await bus.close(50)
    await rejected
    expect(buses.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('stuck') }])
  })

  it('makes every later operation fail', async () => {
    const bus = await buses.connect(nats.url)
    bus.serve('next', NEXT, ({ count }) => ({ next: count }))
    await bus.close()
    await expect(bus.request('next', NEXT, { count: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(bus.publish('news', Message, { n: 1 })).toBe(false)
    expect(() => bus.subscribe('news', Message, () => undefined)).toThrow(/closed/)
    await expect(bus.flush()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
