import { randomInt } from 'node:crypto'
import { sleep } from '@session-service/server-kit'
import { EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

/** A long run sets more: KILLS=50. */
const KILLS = Number(process.env.KILLS ?? 6)

let stack: Stack
let sink: EventSink
beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 0, masterEnv: { ...webhookEnv(sink), SERVICE_WEBHOOK_TIMEOUT: '500' } })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

/** Sessions whose calls were answered. A call that a kill cut off may or may not have had an effect. */
interface Answered {
  created: Set<string>
  deleted: Set<string>
}

async function callUntilKilled(answered: Answered, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { id } = await stack.api.createSession().catch(() => ({ id: undefined }))
    if (id === undefined) return
    answered.created.add(id)
    if (randomInt(4) === 0) continue
    try {
      await stack.api.deleteSession(id)
      answered.deleted.add(id)
    } catch {
      return
    }
  }
}

async function killAtRandom(answered: Answered): Promise<void> {
  const [master] = stack.masters
  if (!master) throw new Error('there is no master')
  let isOver = false
  const callers = Array.from({ length: 4 }, () => callUntilKilled(answered, () => isOver))
  // Some calls are complete before the kill, also on a busy machine.
  const before = answered.deleted.size
  await until('calls are answered', () => answered.deleted.size > before + 1)
  await sleep(randomInt(20, 400))
  master.kill('SIGKILL')
  isOver = true
  await master.exited
  await Promise.all(callers)
  await stack.revive(master)
}

it(
  `the outbox loses no event and keeps the order over ${KILLS} kills of the master and an outage of the receiver`,
  async () => {
    const answered: Answered = { created: new Set(), deleted: new Set() }
    let isUnavailable = true
    sink.behaviour = () => (isUnavailable ? { status: 503 } : undefined)
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill >= KILLS / 2) isUnavailable = false
      await killAtRandom(answered)
    }
    const delivered = (name: string): Set<unknown> =>
      new Set(sink.accepted.filter(({ event }) => event.event === name).map(({ event }) => event.sessionId))
    const lacks = (name: string, wanted: Set<string>): boolean => {
      const known = delivered(name)
      return [...wanted].some((id) => !known.has(id))
    }
    await until(
      'every event has arrived',
      () => !lacks('sessionCreated', answered.created) && !lacks('sessionDestroyed', answered.deleted),
      60_000,
    )
    expect(answered.deleted.size).toBeGreaterThan(KILLS)
    const sessions = new Set(sink.accepted.map(({ event }) => String(event.sessionId)))
    for (const id of sessions) {
      const names = sink.names(id)
      expect(names).toEqual(['sessionCreated', 'sessionDestroyed'].slice(0, names.length))
    }
    const bodies = new Map<string, string>()
    for (const { id, body } of sink.received) {
      expect(bodies.get(id) ?? body).toBe(body)
      bodies.set(id, body)
    }
  },
  60_000 + KILLS * 8_000,
)
