import { ClockShift, EventSink, ServiceApi, type Stack, startStack, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

const AHEAD_MS = 10_000
const ROUNDS = 6

const clock = new ClockShift(AHEAD_MS)
let stack: Stack
let sink: EventSink
let masters: ServiceApi[]
beforeAll(async () => {
  sink = await EventSink.open()
  const { env } = clock
  stack = await startStack({
    masters: 2,
    nodes: 1,
    masterEnv: webhookEnv(sink),
    wire: ({ kind, number }, facts) => Promise.resolve({ facts, env: kind === 'master' && number === 2 ? env : {} }),
  })
  masters = stack.masters.map((_, nth) => stack.apiOf(nth))
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
  clock.close()
})

const at = (nth: number): ServiceApi => masters[nth % masters.length] ?? stack.api

describe('with the clock of one of two masters ten seconds ahead', () => {
  it('the event timestamps of a session never decrease, at any master', async () => {
    const ids: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { id } = await at(round).createSession()
      ids.push(id)
      const clients = [await stack.join(id), await stack.join(id)]
      await at(round + 1).sendSignal({ session: id, type: 'news', data: 'a' })
      const { content } = await at(round).listConnections(id)
      await at(round + 1).deleteConnection(id, content[0]?.id ?? '')
      await at(round).sendSignal({ session: id, type: 'news', data: 'b' })
      await at(round + 1).deleteSession(id)
      await Promise.all(clients.map(({ closed }) => closed))
      await sink.ended(id)
    }
    for (const id of ids) {
      const events = sink.ofSession(id).map(({ event }) => event)
      const times = events.map(({ timestamp }) => timestamp)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times.length).toBeGreaterThanOrEqual(4)
      for (const { duration = 0 } of events) expect(Number(duration)).toBeLessThan(AHEAD_MS / 1_000)
    }
  })

  it('no process counts as dead, and both masters answer', async () => {
    for (const api of masters) {
      const { content } = await api.listMediaNodes()
      expect(content.map(({ status }) => status)).toEqual(['running'])
    }
    const alive = await stack.postgres.query('SELECT count(*)::int AS n FROM master')
    expect(alive).toEqual([{ n: 2 }])
    expect(sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')).toEqual([])
  })
})
