import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStack, type RestAnswer, type Stack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'

const PATIENCE_MS = 60_000
let stack: Stack
afterEach(() => stack.stop())

let cdr: string
beforeAll(async () => {
  cdr = await mkdtemp(join(tmpdir(), 'cdr-'))
})
afterAll(() => rm(cdr, { recursive: true }))

const restart = (body?: unknown): Promise<RestAnswer> => stack.rest('POST', '/restart', body)
/** Undefined while no master answers. */
const config = async (url = stack.masterUrl): Promise<Record<string, unknown> | undefined> => {
  const authorization = stack.authorization
  const answer = await fetch(`${url}/service/api/config`, { headers: { authorization } }).catch(() => undefined)
  return answer?.status === 200 ? z.record(z.string(), z.unknown()).parse(await answer.json()) : undefined
}
const inForce = (name: string, value: unknown, url?: string): Promise<unknown> =>
  until(`${name} is in force`, async () => (await config(url))?.[name] === value, PATIENCE_MS)
const messageOf = ({ body }: RestAnswer): string => z.object({ message: z.string() }).parse(body).message

describe('POST restart', () => {
  it('rejects invalid values with all reasons, and applies none', async () => {
    stack = await startStack({ nodes: 0 })
    const wrong = await restart({
      SERVICE_CDR: true,
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 'often',
      SERVICE_TYPO: 1,
      HTTPS_PORT: 8443,
      SERVICE_WEBHOOK: true,
    })
    expect(wrong.status).toBe(400)
    expect(messageOf(wrong).split('; ')).toEqual([
      'SERVICE_SESSIONS_GARBAGE_INTERVAL: must be a number',
      'SERVICE_TYPO: no such property',
      'HTTPS_PORT: cannot be changed by a restart',
      'SERVICE_WEBHOOK_ENDPOINT: is mandatory when SERVICE_WEBHOOK is true',
    ])
    for (const body of ['[]', '"x"', '{', { SERVICE_CDR: {} }, { SERVICE_WEBHOOK_HEADERS: [1] }]) {
      expect((await restart(body)).status).toBe(400)
    }
    expect(await stack.postgres.query('SELECT * FROM restart')).toEqual([])
    expect(await config()).toMatchObject({ SERVICE_CDR: false, HTTPS_PORT: expect.any(Number) })
  }, 60_000)

  it('rejects values that no master can serve with, and continues to serve', async () => {
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_RECORDING: 'true', SERVICE_RESTART_PATHS: '["/proc"]' } })
    const refused: [Record<string, unknown>, RegExp][] = [
      [
        { SERVICE_WEBHOOK: true, SERVICE_WEBHOOK_ENDPOINT: 'http://a%zz:b@198.51.100.1/' },
        /^SERVICE_WEBHOOK_ENDPOINT: user and password /,
      ],
      [
        { SERVICE_RECORDING_PATH: '/proc/x' },
        /^SERVICE_RECORDING_PATH: the folder "\/proc\/x" cannot be created and written/,
      ],
      [{ SERVICE_RECORDING_CUSTOM_LAYOUT: '/' }, /^SERVICE_RECORDING_CUSTOM_LAYOUT: must be at or below /],
      [{ SERVICE_WEBHOOK_HEADERS: ['X: 漢'] }, /^SERVICE_WEBHOOK_HEADERS: header X /],
      [{ SERVICE_WEBHOOK_HEADERS: ['Content-Length: 1'] }, /^SERVICE_WEBHOOK_HEADERS: header Content-Length/],
      [{ SERVICE_PRO_CLUSTER_ID: 'a\0b' }, /^SERVICE_PRO_CLUSTER_ID: must not contain NUL/],
      [{ SERVICE_PRO_CLUSTER_ID: '\ud800' }, /^SERVICE_PRO_CLUSTER_ID: must not contain NUL/],
      [{ SERVICE_RECORDING_AUTOSTOP_TIMEOUT: 1e15 }, /^SERVICE_RECORDING_AUTOSTOP_TIMEOUT: must be an integer from/],
    ]
    for (const [body, message] of refused) {
      const answer = await restart(body)
      expect([answer.status, messageOf(answer)]).toEqual([400, expect.stringMatching(message)])
    }
    expect(await stack.postgres.query('SELECT * FROM restart')).toEqual([])
    expect(await stack.postgres.query('SELECT * FROM config_override')).toEqual([])
    expect((await stack.rest('GET', '/sessions')).status).toBe(200)
  }, 60_000)

  it('applies values at all masters without new processes, which persist in new ones and end when the database loses them', async () => {
    stack = await startStack({ nodes: 0, masters: 2, masterEnv: { SERVICE_CDR_PATH: cdr } })
    // Browsers and load balancers open connections in advance.
    const unused = stack.masterUrls.map((url) => connect(Number(new URL(url).port), new URL(url).hostname))
    for (const socket of unused) await once(socket, 'connect')
    const pids = stack.masters.map(({ pid }) => pid)
    const accepted = await restart({
      SERVICE_SESSIONS_GARBAGE_INTERVAL: 77,
      SERVICE_WEBHOOK_HEADERS: ['Authorization: Bearer hush'],
      SERVICE_WEBHOOK_ENDPOINT: 'http://user:hush@198.51.100.1/hook',
      SERVICE_CDR: null,
    })
    const withoutEffect = ['SERVICE_WEBHOOK_HEADERS', 'SERVICE_WEBHOOK_ENDPOINT']
    expect([accepted.status, accepted.body]).toEqual([
      200,
      { warnings: withoutEffect.map((name) => `${name} has no effect while SERVICE_WEBHOOK is false`) },
    ])
    for (const url of stack.masterUrls) await inForce('SERVICE_SESSIONS_GARBAGE_INTERVAL', 77, url)
    expect(stack.masters.map(({ pid, running }) => [pid, running])).toEqual(pids.map((pid) => [pid, true]))
    expect(JSON.stringify(await stack.postgres.query('SELECT * FROM config_override'))).not.toContain('hush')
    await until('the restart is over', async () => (await restart({ SERVICE_CDR: true })).status === 200, PATIENCE_MS)
    for (const url of stack.masterUrls) await inForce('SERVICE_CDR', true, url)
    for (const master of [...stack.masters]) {
      await master.stop()
      await stack.revive(master)
    }
    expect(await config()).toMatchObject({ SERVICE_SESSIONS_GARBAGE_INTERVAL: 77, SERVICE_CDR: true })
    expect((await stack.rest('GET', '/config/overrides')).body).toMatchObject({
      content: expect.arrayContaining([
        { object: 'override', name: 'SERVICE_WEBHOOK_ENDPOINT', value: 'http://user:***@198.51.100.1/hook' },
      ]),
    })
    for (const socket of unused) socket.destroy()
    const { id } = await stack.api.createSession()
    // As a failover of the database without its last commits.
    await stack.postgres.query('DELETE FROM restart WHERE id = (SELECT max(id) FROM restart)')
    await stack.postgres.query(`UPDATE config_override SET value = 'false' WHERE name = 'SERVICE_CDR'`)
    for (const url of stack.masterUrls) await inForce('SERVICE_CDR', false, url)
    expect((await stack.api.getSession(id)).id).toBe(id)
    const again = async (): Promise<boolean> => (await restart({ SERVICE_CDR: true })).status === 200
    await until('another restart is possible', again, PATIENCE_MS)
    for (const url of stack.masterUrls) await inForce('SERVICE_CDR', true, url)
  }, 180_000)

  it('closes sessions with notifications, and keeps sessions that are created afterwards', async () => {
    stack = await startStack()
    const { id } = await stack.api.createSession({ customSessionId: 'standup' })
    const [alice, bob] = [await stack.join(id), await stack.join(id)]
    const { mediaNodeId } = await stack.api.getSession(id)
    const rooms = () => stack.postgres.query('SELECT 1 FROM session')
    expect((await restart({})).status).toBe(200)
    for (const client of [alice, bob]) await client.closed
    for (const client of [alice, bob]) {
      expect(client.received('sessionDisconnected')).toEqual([{ reason: 'serviceServerStopped' }])
    }
    expect(await rooms()).toEqual([])
    await until('it serves again', async () => (await config()) !== undefined, PATIENCE_MS)
    await until(
      'the id can be used again',
      async () => (await stack.rest('POST', '/sessions', { customSessionId: 'standup' })).status === 200,
      PATIENCE_MS,
    )
    const onNode = { mediaNode: { id: mediaNodeId } }
    const isUsable = async (): Promise<boolean> => (await stack.rest('POST', '/sessions', onNode)).status === 200
    await until('the media node can be used again', isUsable, PATIENCE_MS)
    const back = await stack.join('standup')
    await back.close()
  }, 120_000)

  it('requested twice at the same time is carried out once', async () => {
    stack = await startStack({ nodes: 0, masters: 2 })
    const ask = async (url: string, value: number): Promise<number> => {
      const headers = {
        authorization: stack.authorization,
        'content-type': 'application/json',
      }
      const body = JSON.stringify({ SERVICE_SESSIONS_GARBAGE_INTERVAL: value })
      return (await fetch(`${url}/service/api/restart`, { method: 'POST', headers, body })).status
    }
    const urls = [...stack.masterUrls, ...stack.masterUrls]
    const answers = await Promise.all(urls.map((url, index) => ask(url, 100 + index)))
    expect(answers.filter((status) => status === 200)).toHaveLength(1)
    for (const status of answers.filter((each) => each !== 200)) expect([409, 503]).toContain(status)
    const value = 100 + answers.indexOf(200)
    for (const url of stack.masterUrls) await inForce('SERVICE_SESSIONS_GARBAGE_INTERVAL', value, url)
    await until(
      'each master has one row',
      async () => (await stack.postgres.query('SELECT 1 FROM master')).length === 2,
      PATIENCE_MS,
    )
  }, 120_000)
})

describe('the free edition', () => {
  it('has no paid operations, and does not show media nodes', async () => {
    stack = await startStack({ masterEnv: { SERVICE_EDITION: 'ce' } })
    const { id } = await stack.api.createSession({ mediaNode: { id: 'no such node' } })
    const client = await stack.join(id)
    const session = await stack.api.getSession(id)
    expect(session.connections.content).toHaveLength(1)
    expect(session).not.toHaveProperty('mediaNodeId')
    await client.close()
    const [{ id: connectionId } = { id: '' }] = session.connections.content
    const path = `/sessions/${id}/connection/${connectionId}`
    expect((await stack.rest('PATCH', path, { role: 'SUBSCRIBER' })).status).toBe(404)
    expect((await stack.rest('POST', '/speech-to-text/load', {})).status).toBe(404)
    expect((await stack.rest('GET', '/health')).status).toBe(404)
    expect((await restart({})).status).toBe(404)
    expect(await config()).not.toHaveProperty('SERVICE_PRO_CLUSTER_ID')
  }, 60_000)
})
