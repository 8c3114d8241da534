import { EventSink, startStack, until, webhookEnv } from '@session-service/testing'
import { expect, it } from '@jest/globals'
import { Client } from 'pg'

const countRows = async (url: string): Promise<number> => {
  const client = new Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM outbox')
    return rows[0]?.count ?? -1
  } finally {
    await client.end()
  }
}

it('the outbox stays empty without call records and webhook', async () => {
  const stack = await startStack({ nodes: 0 })
  try {
    const { id } = await stack.api.createSession()
    await stack.api.deleteSession(id)
    expect(await countRows(stack.postgres.url)).toBe(0)
  } finally {
    await stack.stop()
  }
})

it('the garbage collection of an unused session is posted, and delivered events leave the outbox', async () => {
  const sink = await EventSink.open()
  const garbage = { SERVICE_SESSIONS_GARBAGE_INTERVAL: '1', SERVICE_SESSIONS_GARBAGE_THRESHOLD: '1' }
  const stack = await startStack({ nodes: 0, masterEnv: { ...webhookEnv(sink), ...garbage } })
  try {
    const { id } = await stack.api.createSession()
    await sink.ended(id)
    expect(sink.ofSession(id).map(({ event: { event, reason } }) => [event, reason])).toEqual([
      ['sessionCreated', undefined],
      ['sessionDestroyed', 'automaticStop'],
    ])
    await until('the outbox is empty', async () => (await countRows(stack.postgres.url)) === 0)
  } finally {
    await stack.stop()
    await sink.close()
  }
})

it('each change of a session is logged with SERVICE_LOG_EVENTS, without rows in the outbox', async () => {
  const stack = await startStack({ nodes: 0, masterEnv: { SERVICE_LOG_EVENTS: 'true' } })
  try {
    const { id } = await stack.api.createSession()
    await stack.api.deleteSession(id)
    expect(await countRows(stack.postgres.url)).toBe(0)
    await until('the end of the session is logged', () => stack.journal.find('"msg":"sessionDestroyed"').length > 0)
    const [created, destroyed] = stack.journal.find(`"sessionId":"${id}"`)
    expect(created).toContain('"msg":"sessionCreated"')
    expect(destroyed).toContain('"reason":"sessionClosedByServer"')
  } finally {
    await stack.stop()
  }
})
