import { SIGNALLING_WINDOWS } from '@session-service/contract'
import {
  EventSink,
  type Received,
  type SignallingClient,
  type Stack,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Client } from 'pg'

jest.setTimeout(180_000)

/** In sequence, so that the last ones set the clock back to the real time. */
const STEPS = [
  { by: 30_000, to: 30_000 },
  { by: -30_000, to: 0 },
  { by: 3_600_000, to: 3_600_000 },
  { by: -3_600_000, to: 0 },
]
const TOLERANCE_MS = 1_500
/** Every master checks its participants every 5 s, and evictions run every second. */
const SLACK_MS = 12_000
/** Longer than any window of a socket. */
const CALL_MS = SIGNALLING_WINDOWS.evict + SIGNALLING_WINDOWS.silent + 1_000

let stack: Stack
let sink: EventSink
let shifted: Promise<void> | undefined
beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    masters: 2,
    nodes: 1,
    masterEnv: webhookEnv(sink),
    wire: async ({ kind }, facts) => {
      if (kind === 'master') await (shifted ??= replaceClock(facts.databaseUrl))
      return { facts, env: {} }
    },
  })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

/** Statements find this clock before that of Postgres. */
async function replaceClock(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`
    CREATE TABLE public.clock_shift (ms float8 NOT NULL);
    INSERT INTO public.clock_shift VALUES (0);
    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
      'SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM public.clock_shift) * interval ''1 millisecond''';
    DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET search_path = public, pg_catalog'', current_database()); END'`)
  await client.end()
}

const join = async (id: string, nth: number): Promise<SignallingClient> => {
  const { token } = await stack.api.createConnection(id)
  const client = await stack.openSocket(stack.atMaster(nth, token))
  await client.join()
  return client
}
const leftOf = (id: string): Received[] => sink.ofSession(id).filter(({ event }) => event.event === 'participantLeft')

describe.each(STEPS)('when the clock of the database steps by $by ms', ({ by, to }) => {
  it('masters follow within seconds, participants stay, lost ones are evicted and both masters are alive', async () => {
    const { id } = await stack.api.createSession()
    const clients = [await join(id, 0), await join(id, 1)]
    const closed: number[] = []
    for (const client of clients) void client.closed.then(({ code }) => closed.push(code))
    const lost = await join(id, 0)
    lost.terminate()
    await until('the lost socket has a deadline', async () => {
      const rows = await stack.postgres.query('SELECT 1 FROM connection WHERE evict_at IS NOT NULL')
      return rows.length > 0
    })
    await stack.postgres.query('UPDATE clock_shift SET ms = $1', [to])
    const steppedAt = performance.now()

    // After a small step back the clock stands still.
    if (by !== -30_000) {
      await until('a master stores the new time', async () => {
        const { createdAt } = await stack.api.createSession()
        return Math.abs(createdAt - Date.now() - to) < TOLERANCE_MS
      })
      console.info(`the new time is stored ${Math.round(performance.now() - steppedAt)} ms after the step`)
    }
    await until('both masters log the step', () => ['master1', 'master2'].every((name) => hasStepNear(name, by)))
    await until('the lost participant is evicted', () => leftOf(id).length > 0, SIGNALLING_WINDOWS.evict + SLACK_MS)
    await until('the call is long enough', () => performance.now() - steppedAt > CALL_MS || closed[0], CALL_MS * 3)
    expect(closed).toEqual([])
    expect(leftOf(id)).toHaveLength(1)
    const alive = () => stack.postgres.query('SELECT count(*)::int AS n FROM master')
    await until('both masters are alive', async () => (await alive())[0]?.n === 2)
    const { content } = await stack.api.listMediaNodes()
    expect(content.map(({ status }) => status)).toEqual(['running'])
    expect(sink.accepted.map(({ event }) => event.event)).not.toContain('nodeCrashed')
    await stack.api.deleteSession(id)
    await sink.ended(id)
  })
})

/** Whether a master has logged a clock step of about `by` ms. */
const hasStepNear = (name: string, by: number): boolean =>
  stack.journal
    .find(new RegExp(`^${name} .*the clock of the database has stepped`))
    .some((line) => Math.abs(Number(/"stepMs":(-?\d+)/.exec(line)?.[1]) - by) < TOLERANCE_MS)
