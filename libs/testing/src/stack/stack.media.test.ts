import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { descendantsOf, isAlive } from '../invariants.js'
import { RestError } from '@session-service/rest-client'
import { SignallingError } from '@session-service/synthetic-participant'
import { type Stack, startStack } from './stack.js'

describe('a stack with two masters and two nodes', () => {
  let stack: Stack
  beforeAll(async () => {
    stack = await startStack({ masters: 2, nodes: 2, ownPostgres: true })
  })
  afterAll(() => stack.stop())

  it('every master answers REST requests, and rejects invalid ones with the specified status', async () => {
    const session = await stack.api.createSession({ customSessionId: 'room' })
    expect(await stack.api.getSession('room')).toEqual(session)
    await expect(stack.api.createSession({ customSessionId: 'room' })).rejects.toMatchObject({
      name: RestError.name,
      status: 409,
    })
    const other = await fetch(`${stack.masterUrls[1]}/service/api/sessions`)
    expect(other.status).toBe(401)
    await stack.api.deleteSession('room')
    expect((await stack.rest('GET', '/sessions/room')).status).toBe(404)
  })

  it('participants receive notifications about each other that match the schemas', async () => {
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id, { role: 'MODERATOR' })
    const bob = await stack.join(id, { role: 'SUBSCRIBER' })
    const { connectionId } = await alice.waitFor('connectionCreated')
    await bob.request('signal', { type: 'chat', data: 'hello' })
    expect(await alice.waitFor('signal', ({ data }) => data === 'hello')).toEqual({
      type: 'signal:chat',
      data: 'hello',
      from: connectionId,
    })
    const refused = bob.request('forceDisconnect', { connectionId })
    await expect(refused).rejects.toMatchObject({ name: SignallingError.name, code: 'NOT_ALLOWED' })
    await alice.request('forceDisconnect', { connectionId })
    expect(await bob.waitFor('sessionDisconnected')).toEqual({ reason: 'forceDisconnectByUser' })
    expect(await bob.closed).toMatchObject({ code: 4000 })
    expect(alice.received('connectionDestroyed')).toEqual([{ connectionId, reason: 'forceDisconnectByUser' }])
    expect([...alice.violations, ...bob.violations]).toEqual([])
    await alice.close()
  })

  it('each process can be killed and revived', async () => {
    stack.nats.kill()
    await stack.nats.restart()
    stack.postgres.server?.process.kill('SIGKILL')
    await stack.postgres.restartServer()
    for (const victim of [stack.masters[1], stack.nodes[0]]) {
      if (!victim) throw new Error('the stack has no such process')
      await expect(stack.revive(victim)).rejects.toThrow('cannot be revived: it is running')
      victim.kill()
      const revived = await stack.revive(victim)
      expect(revived.env).toEqual(victim.env)
      expect([...stack.masters, ...stack.nodes]).toContain(revived)
    }
    await until('REST works again', () => stack.api.createSession())
    expect(stack.journal.find(/^master1 /).length).toBeGreaterThan(0)
  })
})

it('a stopped stack leaves no process', async () => {
  const before = new Set(descendantsOf(process.pid).map(({ pid }) => pid))
  const stack = await startStack({ ownPostgres: true })
  const family = descendantsOf(process.pid)
    .map(({ pid }) => pid)
    .filter((pid) => !before.has(pid))
  expect(family.length).toBeGreaterThan(5)
  await stack.stop()
  await until('all processes have exited', () => !family.some(isAlive))
})

it('a stack that cannot start reports the reason and leaves no process', async () => {
  const before = descendantsOf(process.pid).length
  await expect(startStack({ ownPostgres: true, masterEnv: { SERVICE_PUBLICURL: 'nowhere' } })).rejects.toThrow(
    /master\d exited before it was ready \(exit code 78\):\nSERVICE_PUBLICURL/,
  )
  await until('all processes have exited', () => descendantsOf(process.pid).length <= before)
})
