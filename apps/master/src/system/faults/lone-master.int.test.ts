import { CLOSE_CODE } from '@session-service/contract'
import { type CaseTools, FaultRig, postponeEviction, ServiceApi, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

let rig: FaultRig
let other: ServiceApi
beforeAll(async () => {
  rig = await FaultRig.open({ masters: 1, nodes: 1 })
  // The first master is the leader.
  await rig.stack.addMaster()
  other = rig.stack.apiOf(1)
})
afterAll(() => rig?.close())

/** Cuts the first master off the service, and resumes its client, which it sends away, at the other master. */
async function resumeElsewhere(
  service: 'nats' | 'postgres',
  { mark, since, figure }: Pick<CaseTools, 'mark' | 'since' | 'figure'>,
) {
  const { id } = await rig.stack.api.createSession()
  const { token } = await rig.stack.api.createConnection(id)
  const alice = await rig.stack.openSocket(token ?? '')
  const { connectionId, resumeKey } = await alice.join()
  await postponeEviction(rig.stack.postgres, connectionId)
  const wire = rig.wire('master1', service)
  wire.mode = 'reset'
  mark()
  const { code } = await alice.closed
  figure('the client was sent away after ms', since())
  expect([code, alice.received('reconnect').length]).toEqual([CLOSE_CODE.goingAway, 1])
  const again = await rig.stack.openSocket(rig.stack.atMaster(1, token))
  expect(await again.request('resume', { connectionId, resumeKey })).toMatchObject({ role: 'PUBLISHER' })
  return { again, connectionId, wire }
}

it('a leader that alone loses the bus leaves the scheduled jobs to another master', () =>
  rig.run('lost bus', async ({ figure, mark, since }) => {
    const wire = rig.wire('master1', 'nats')
    wire.mode = 'reset'
    await rig.becomes('not ready', rig.master(), '/readyz', 503)
    mark()
    const { id } = await other.createSession({ maxDuration: 1 })
    const { token } = await other.createConnection(id)
    const alice = await rig.stack.openSocket(rig.stack.atMaster(1, token))
    await alice.join()
    await alice.closed
    figure('the session has ended after ms', since())
    expect(alice.received('sessionDisconnected')).toHaveLength(1)
    wire.mode = 'pass'
    await rig.becomes('ready', rig.master(), '/readyz', 200)
  }))

it('the clients of a master that alone loses the bus resume at another master', () =>
  rig.run('clients without the bus', async ({ figure, mark, since }) => {
    const { again, wire } = await resumeElsewhere('nats', { mark, since, figure })
    await again.request('leave', {})
    wire.mode = 'pass'
    await rig.becomes('ready', rig.master(), '/readyz', 200)
  }))

it('the clients of a master that alone loses the database resume at another master', () =>
  rig.run('lost database', async ({ figure, mark, since }) => {
    const { again, wire, connectionId } = await resumeElsewhere('postgres', { mark, since, figure })
    wire.mode = 'pass'
    await rig.becomes('ready', rig.master(), '/readyz', 200)
    const [row] = await rig.stack.postgres.query('SELECT status, evict_at FROM connection WHERE id = $1', [
      connectionId,
    ])
    expect(row).toEqual({ status: 'active', evict_at: null })
    // The row of the master was removed. Without its generation it would count as one that does not serve.
    await until('both masters serve the same configuration', async () => {
      const serving = await rig.stack.postgres.query('SELECT 1 FROM master WHERE generation = 0')
      return serving.length === 2
    })
    await again.request('leave', {})
  }))
