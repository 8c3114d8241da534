import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '@nats-io/transport-node'
import { z } from 'zod'
import { NatsServer } from '../fixtures/nats-server.js'
import { TestBuses } from '../fixtures/test-buses.js'
import { until } from '@session-service/local-stack'

const Message = z.object({ n: z.number() })
const ECHO = [Message, Message, 2_000] as const

let nats: NatsServer
const buses = new TestBuses()
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(() => buses.clear())
afterAll(() => nats.kill())

describe('two clusters on one bus server', () => {
  it('do not receive messages of each other, wildcards included', async () => {
    const [north, south] = [
      await buses.connect(nats.url, { cluster: 'north' }),
      await buses.connect(nats.url, { cluster: 'south' }),
    ]
    const received: Record<string, string[]> = { north: [], south: [] }
    for (const [cluster, bus] of Object.entries({ north, south })) {
      bus.subscribe('news.*', Message, (_message, subject) => void received[cluster]?.push(subject))
      await bus.flush()
    }
    north.publish('news.north', Message, { n: 1 })
    south.publish('news.south', Message, { n: 1 })
    await until('both messages are received', () => received.north?.length && received.south?.length)
    // A message of the other cluster would arrive before these replies.
    await Promise.all([north.flush(), south.flush()])
    expect(received).toEqual({ north: ['news.north'], south: ['news.south'] })
  })

  it('do not answer requests of each other', async () => {
    const [north, south] = [
      await buses.connect(nats.url, { cluster: 'north' }),
      await buses.connect(nats.url, { cluster: 'south' }),
    ]
    north.serve('echo', ECHO, (message) => message)
    await north.flush()
    await expect(south.request('echo', ECHO, { n: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await north.request('echo', ECHO, { n: 1 })).toEqual({ n: 1 })
  })

  it('use separate subjects for requests, replies and messages', async () => {
    const listener = await connect({ servers: nats.url })
    const subjects: string[] = []
    listener.subscribe('>', { callback: (_error, { subject, reply }) => void subjects.push(subject, reply ?? '') })
    await listener.flush()
    const node = await buses.connect(nats.url, { cluster: 'north', role: 'node' })
    node.serve('echo', ECHO, (message) => message)
    await node.request('echo', ECHO, { n: 1 })
    node.publish('news', Message, { n: 1 })
    await until('the message is on the wire', () => subjects.includes('service.north.news'))
    await listener.close()
    expect(subjects.filter((subject) => subject !== '' && !subject.startsWith('service.north.'))).toEqual([])
    expect(subjects.some((subject) => subject.startsWith('service.north.inbox.node.'))).toBe(true)
  })
})
