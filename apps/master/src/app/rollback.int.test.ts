import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BACKEND_EVENTS, ClusterHealth, ConfigurationRollback } from '@session-service/contract'
import { EventSink, startStack, type Stack, until, webhookEnv } from '@session-service/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { z } from 'zod'

const PATIENCE_MS = 90_000
let stack: Stack | undefined
let sink: EventSink
let folder: string
beforeEach(async () => {
  sink = await EventSink.open()
  folder = await mkdtemp(join(tmpdir(), 'rollback-'))
})
afterEach(async () => {
  await stack?.stop()
  stack = undefined
  await sink.close()
  await rm(folder, { recursive: true, force: true })
})

const running = (): Stack => {
  if (!stack) throw new Error('the stack was not started')
  return stack
}

async function at(url: string, path: string, method = 'GET', body?: unknown) {
  const authorization = running().authorization
  const answer = await fetch(`${url}/service/api${path}`, {
    method,
    headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => undefined)
  const text = (await answer?.text()) ?? ''
  return { status: answer?.status ?? 0, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

const WithRollback = z.looseObject({ configurationRollback: ConfigurationRollback.optional() })
const rollbackAt = async (url: string): Promise<ConfigurationRollback | undefined> =>
  WithRollback.safeParse((await at(url, '/health')).body).data?.configurationRollback

const valueAt = async (url: string, name: string): Promise<unknown> =>
  z.record(z.string(), z.unknown()).safeParse((await at(url, '/config')).body).data?.[name]

const overrides = async (): Promise<unknown> => {
  const { body } = await at(running().masterUrl, '/config/overrides')
  const { numberOfElements, content } = z
    .object({ numberOfElements: z.number(), content: z.array(z.object({ name: z.string(), value: z.unknown() })) })
    .parse(body)
  expect(numberOfElements).toBe(content.length)
  return Object.fromEntries(content.map(({ name, value }) => [name, value]))
}

const events = () => sink.received.map(({ event }) => event).filter(({ event }) => event === 'configurationRolledBack')

describe('a restart that passes validation and fails at bootstrap', () => {
  it('is rolled back by all masters, and logs, health and an event name the property', async () => {
    const path = join(folder, 'recordings')
    const own = {
      SERVICE_RECORDING: 'true',
      SERVICE_RESTART_PATHS: JSON.stringify([folder]),
      // Time to break the folder before the masters build the new configuration.
      SERVICE_SHUTDOWN_DELAY: '2',
    }
    stack = await startStack({ nodes: 0, masters: 2, masterEnv: { ...webhookEnv(sink), ...own } })
    const { masterUrl, masterUrls, recordingsFolder, masters } = stack
    expect((await at(masterUrl, '/restart', 'POST', { SERVICE_SESSIONS_GARBAGE_INTERVAL: 77 })).status).toBe(200)
    for (const url of masterUrls)
      await until(
        'a good restart is served',
        async () => (await valueAt(url, 'SERVICE_SESSIONS_GARBAGE_INTERVAL')) === 77,
        PATIENCE_MS,
      )
    await until(
      'the bad restart is accepted',
      async () => (await at(masterUrl, '/restart', 'POST', { SERVICE_RECORDING_PATH: path })).status === 200,
      PATIENCE_MS,
    )
    await rm(path, { recursive: true })
    await writeFile(path, 'a file where the folder was')
    for (const url of masterUrls) {
      const rollback = await until('health shows the rollback', () => rollbackAt(url), PATIENCE_MS)
      expect(rollback).toMatchObject({
        properties: ['SERVICE_RECORDING_PATH'],
        reason: expect.stringContaining('SERVICE_RECORDING_PATH: the folder'),
      })
      await until(
        'the earlier configuration is in force',
        async () => (await valueAt(url, 'SERVICE_RECORDING_PATH')) === recordingsFolder,
        PATIENCE_MS,
      )
      expect(await valueAt(url, 'SERVICE_SESSIONS_GARBAGE_INTERVAL')).toBe(77)
    }
    expect(await overrides()).toEqual({ SERVICE_SESSIONS_GARBAGE_INTERVAL: 77 })
    const [event] = await until('the event is posted', () => (events().length > 0 ? events() : undefined), PATIENCE_MS)
    const { event: name, ...members } = event ?? { event: '' }
    expect(name).toBe('configurationRolledBack')
    expect(BACKEND_EVENTS.configurationRolledBack.parse(members).properties).toEqual(['SERVICE_RECORDING_PATH'])
    expect(stack.journal.find(/rolled back to the configuration of restart .*SERVICE_RECORDING_PATH/)).not.toEqual([])
    for (const master of masters) {
      expect(master.running).toBe(true)
      expect((await fetch(`${master.opsUrl}/healthz`)).status).toBe(200)
    }
    await until(
      'all masters serve the same restart',
      async () => (await running().postgres.query('SELECT generation FROM master WHERE generation = 3')).length === 2,
      PATIENCE_MS,
    )
    // The good one, the bad one and a single rollback of all masters.
    expect(await running().postgres.query('SELECT id FROM restart')).toHaveLength(3)
    expect(events()).toHaveLength(1)
  }, 300_000)
})

describe('a cold start with stored overrides that no master can serve', () => {
  it('serves with the configuration of the environment and reports it', async () => {
    stack = await startStack({ nodes: 0, masters: 1, masterEnv: { SERVICE_EDITION: 'enterprise' } })
    const [master] = stack.masters
    await master?.stop()
    // A version without these checks has stored them.
    await stack.postgres.query(`INSERT INTO config_override (name, value) VALUES
      ('SERVICE_WEBHOOK', 'true'), ('SERVICE_WEBHOOK_ENDPOINT', 'http://a%zz:b@198.51.100.1/'),
      ('SERVICE_RECORDING_CUSTOM_LAYOUT', '/')`)
    await stack.postgres.query('INSERT INTO restart (requested_at) VALUES (1)')
    if (master) await stack.revive(master)
    expect(await valueAt(stack.masterUrl, 'SERVICE_WEBHOOK')).toBe(false)
    const rollback = ClusterHealth.parse((await at(stack.masterUrl, '/health')).body).configurationRollback
    expect(rollback?.properties).toEqual(['SERVICE_WEBHOOK_ENDPOINT'])
    expect(rollback?.reason).not.toContain('a%zz')
    expect(await overrides()).toEqual({})
    expect((await at(stack.masterUrl, '/restart', 'POST', { SERVICE_SESSIONS_GARBAGE_INTERVAL: 78 })).status).toBe(200)
    await until(
      'the next restart is served and the rollback is over',
      async () =>
        (await valueAt(running().masterUrl, 'SERVICE_SESSIONS_GARBAGE_INTERVAL')) === 78 &&
        (await rollbackAt(running().masterUrl)) === undefined,
      PATIENCE_MS,
    )
  }, 180_000)

  it('exits when the environment itself is wrong', async () => {
    stack = await startStack({ nodes: 0 })
    await expect(stack.addMaster({ SERVICE_WEBHOOK_ENDPOINT: 'http://a%zz:b@198.51.100.1/' })).rejects.toThrow(
      /exit code 78\):\nSERVICE_WEBHOOK_ENDPOINT/,
    )
    const webhook = { SERVICE_WEBHOOK: 'true', SERVICE_WEBHOOK_ENDPOINT: 'http://198.51.100.1/' }
    await expect(stack.addMaster({ ...webhook, SERVICE_WEBHOOK_CA_FILE: '/nowhere.pem' })).rejects.toThrow(
      /exit code 78\):[^]*\nSERVICE_WEBHOOK_CA_FILE: cannot be used: ENOENT/,
    )
  }, 60_000)
})

describe('overrides', () => {
  it('are listed without secrets and removed one by one or all at once', async () => {
    stack = await startStack({ nodes: 0 })
    const { masterUrl } = stack
    const isServed = (what: string, expected: Record<string, unknown>) =>
      until(
        what,
        async () => {
          const answer = await at(masterUrl, '/config/overrides')
          return answer.status === 200 && JSON.stringify(await overrides()) === JSON.stringify(expected)
        },
        PATIENCE_MS,
      )
    expect(await overrides()).toEqual({})
    expect((await at(masterUrl, '/config/overrides', 'DELETE')).status).toBe(204)
    expect(await stack.postgres.query('SELECT * FROM restart')).toEqual([])
    const body = {
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 77,
      SERVICE_WEBHOOK_HEADERS: ['Authorization: Bearer hush', 'X-Room: 1'],
      SERVICE_PRO_CLUSTER_ID: 'north',
    }
    expect((await at(masterUrl, '/restart', 'POST', body)).status).toBe(200)
    const shown = { SERVICE_WEBHOOK_HEADERS: ['Authorization: ***', 'X-Room: 1'] }
    await isServed('all three are listed', {
      SERVICE_PRO_CLUSTER_ID: 'north',
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 77,
      ...shown,
    })
    // The master answers 503 while it restarts.
    const status = async (path: string) => (await at(masterUrl, `/config/overrides${path}`, 'DELETE')).status
    await until('an unknown one is not found', async () => (await status('/SERVICE_CDR')) === 404, PATIENCE_MS)
    const drop = async (path: string) => (await status(path)) === 204
    await until('one is removed', () => drop('/SERVICE_SESSIONS_GARBAGE_INTERVAL'), PATIENCE_MS)
    await isServed('the others remain', { SERVICE_PRO_CLUSTER_ID: 'north', ...shown })
    const interval = (): Promise<unknown> => valueAt(masterUrl, 'SERVICE_SESSIONS_GARBAGE_INTERVAL')
    await until('the property has its default again', async () => (await interval()) === 900, PATIENCE_MS)
    await until('all are removed', () => drop(''), PATIENCE_MS)
    await isServed('the list is empty', {})
    const isNamed = async (): Promise<unknown> => {
      const name = await valueAt(masterUrl, 'SERVICE_PRO_CLUSTER_ID')
      return name !== undefined && name !== 'north'
    }
    await until('the other property has its default again', isNamed, PATIENCE_MS)
  }, 180_000)
})
