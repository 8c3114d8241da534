import { SessionView } from '@session-service/contract'
import { basicAuth, startStack, until, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { untilLocked } from '../app/fixtures/lock-waits.js'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2 })
})
afterAll(() => stack.stop())

const DEFAULTS = {
  object: 'session',
  mediaMode: 'ROUTED',
  recordingMode: 'MANUAL',
  recording: false,
  broadcasting: false,
  forcedVideoCodec: 'VP8',
  allowTranscoding: false,
  connections: { numberOfElements: 0, content: [] },
  defaultRecordingProperties: {
    name: '',
    hasAudio: true,
    hasVideo: true,
    outputMode: 'COMPOSED',
    recordingLayout: 'BEST_FIT',
    resolution: '1280x720',
    frameRate: 25,
    shmSize: 536_870_912,
  },
}
const ALL_NULL = {
  mediaMode: null,
  recordingMode: null,
  customSessionId: null,
  forcedVideoCodec: null,
  allowTranscoding: null,
  defaultRecordingProperties: null,
  mediaNode: null,
}

const onSecondMaster = async (method: string, path: string, body?: unknown): Promise<number> => {
  const answer = await fetch(`${stack.masterUrls[1]}/service/api${path}`, {
    method,
    headers: {
      authorization: stack.authorization,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  await answer.arrayBuffer()
  return answer.status
}

describe('POST sessions', () => {
  it.each([
    ['no body', undefined],
    ['an empty body', {}],
    ['nulls', ALL_NULL],
    ['an empty custom id', { customSessionId: '' }],
    ['unknown members', { fromTheFuture: { deep: [1] } }],
  ])('uses the defaults for %s', async (_, body) => {
    const answer = await stack.rest('POST', '/sessions', body)
    expect(answer.status).toBe(200)
    const session = SessionView.parse(answer.body)
    expect(session).toMatchObject(DEFAULTS)
    expect(session.id).toMatch(/^ses_[A-Z][A-Za-z0-9]{9}$/)
    expect(session.sessionId).toBe(session.id)
    expect(Math.abs(Date.now() - session.createdAt)).toBeLessThan(10_000)
    expect(answer.body).not.toHaveProperty('customSessionId')
    expect(answer.body).not.toHaveProperty('mediaNodeId')
  })

  it('stores the given values', async () => {
    const given = {
      customSessionId: 'Kept_All-1',
      mediaMode: 'RELAYED',
      recordingMode: 'ALWAYS',
      forcedVideoCodec: 'H264',
      allowTranscoding: true,
    }
    const recording = { name: 'mine', hasAudio: false, outputMode: 'INDIVIDUAL', ignoreFailedStreams: true }
    const body = { ...given, defaultRecordingProperties: recording }
    const expected = { ...given, id: 'Kept_All-1', defaultRecordingProperties: { ...recording, hasVideo: true } }
    expect((await stack.rest('POST', '/sessions', body)).body).toMatchObject(expected)
    expect(await stack.api.getSession('Kept_All-1')).toMatchObject(expected)
  })

  it('accepts the earlier shape of recording defaults', async () => {
    const body = { defaultOutputMode: 'COMPOSED', defaultRecordingLayout: 'CUSTOM', defaultCustomLayout: 'mine' }
    const { body: session } = await stack.rest('POST', '/sessions', body)
    expect(session).toMatchObject({
      defaultRecordingProperties: { outputMode: 'COMPOSED', recordingLayout: 'CUSTOM', customLayout: 'mine' },
    })
  })

  it.each<[string, unknown, string]>([
    ['mediaMode', { mediaMode: 'ROUTE' }, 'mediaMode'],
    ['recordingMode', { recordingMode: 1 }, 'recordingMode'],
    ['customSessionId with a space', { customSessionId: 'a b' }, 'customSessionId'],
    ['customSessionId with a slash', { customSessionId: '../x' }, 'customSessionId'],
    ['customSessionId beyond ASCII', { customSessionId: 'é' }, 'customSessionId'],
    ['customSessionId with NUL', { customSessionId: 'a\0b' }, 'customSessionId'],
    ['customSessionId with an encoded slash', { customSessionId: 'a%2fb' }, 'customSessionId'],
    ['customSessionId with a right-to-left mark', { customSessionId: 'a\u200fb' }, 'customSessionId'],
    ['customSessionId with half a surrogate pair', { customSessionId: 'a\ud800' }, 'customSessionId'],
    ['customSessionId too long', { customSessionId: 'x'.repeat(129) }, 'customSessionId'],
    ['customSessionId as a number', { customSessionId: 7 }, 'customSessionId'],
    ['forcedVideoCodec', { forcedVideoCodec: 'AV2' }, 'forcedVideoCodec'],
    ['allowTranscoding', { allowTranscoding: 'true' }, 'allowTranscoding'],
    ['defaultRecordingProperties', { defaultRecordingProperties: [] }, 'defaultRecordingProperties'],
    [
      'its resolution',
      { defaultRecordingProperties: { resolution: '99x99' } },
      'defaultRecordingProperties.resolution',
    ],
    ['its frameRate', { defaultRecordingProperties: { frameRate: 0 } }, 'defaultRecordingProperties.frameRate'],
    [
      'its media',
      { defaultRecordingProperties: { hasAudio: false, hasVideo: false } },
      'defaultRecordingProperties.hasVideo',
    ],
    ['an unknown media node', { mediaNode: { id: 'media_nowhere' } }, 'mediaNode.id'],
    [
      'an unknown media node to record on',
      { defaultRecordingProperties: { mediaNode: { id: 'media_nowhere' } } },
      'defaultRecordingProperties.mediaNode',
    ],
    ['mediaNode', { mediaNode: 7 }, 'mediaNode'],
  ])('rejects an invalid value and names its field: %s', async (_, body, field) => {
    const answer = await stack.rest('POST', '/sessions', body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ status: 400, error: 'Bad Request', path: '/service/api/sessions' })
    expect(JSON.stringify(answer.body)).toContain(`${field}:`)
  })

  it.each([
    ['broken JSON', '{"mediaMode":', 400],
    ['an array', '[]', 400],
    ['a string', '"x"', 400],
    ['more than a megabyte', JSON.stringify({ customSessionId: 'x'.repeat(1_100_000) }), 413],
  ])('rejects %s', async (_, body, status) => {
    expect((await stack.rest('POST', '/sessions', body)).status).toBe(status)
  })

  it('creates one session for many concurrent requests with the same custom id at two masters', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0
          ? stack.rest('POST', '/sessions', { customSessionId: 'contested' }).then(({ status }) => status)
          : onSecondMaster('POST', '/sessions', { customSessionId: 'contested' }),
      ),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(49)
  })
})

describe('GET and DELETE sessions', () => {
  it('answers 404 for an unknown session at either master', async () => {
    expect((await stack.rest('GET', '/sessions/none')).status).toBe(404)
    expect((await stack.rest('DELETE', '/sessions/none')).status).toBe(404)
    expect(await onSecondMaster('GET', '/sessions/none')).toBe(404)
  })

  it('lists sessions that either master created, without deleted ones', async () => {
    const { id } = await stack.api.createSession()
    expect(await onSecondMaster('GET', `/sessions/${id}`)).toBe(200)
    const before = await stack.api.listSessions()
    expect(before.content.map((session) => session.id)).toContain(id)
    expect(before.numberOfElements).toBe(before.content.length)
    expect(await onSecondMaster('DELETE', `/sessions/${id}`)).toBe(204)
    expect((await stack.api.listSessions()).content.map((session) => session.id)).not.toContain(id)
  })

  it('answers 204 to one of many concurrent deletes, 404 to the others, and frees the id', async () => {
    await stack.api.createSession({ customSessionId: 'reused' })
    const statuses = await Promise.all(
      Array.from({ length: 20 }, () => stack.rest('DELETE', '/sessions/reused').then(({ status }) => status)),
    )
    expect(statuses.toSorted()).toEqual([204, ...Array.from({ length: 19 }, () => 404)])
    expect((await stack.rest('POST', '/sessions', { customSessionId: 'reused' })).status).toBe(200)
  })
})

describe('every path', () => {
  const wrong = [undefined, 'Basic', 'Bearer x', basicAuth('wrong')]
  const paths = [
    '/service/api/sessions',
    '/service/api/nowhere',
    '/',
    '//service/api/sessions',
    '/service/api/%73essions',
    '/service/client/../api/sessions',
  ]
  it.each(paths.flatMap((path) => wrong.map((header) => [path, header] as const)))(
    'answers 401 on %s with %s',
    async (path, authorization) => {
      const answer = await fetch(
        stack.masterUrl + path,
        authorization === undefined ? {} : { headers: { authorization } },
      )
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain('Basic')
      await answer.arrayBuffer()
    },
  )

  it.each([
    ['DELETE', '/sessions', 405],
    ['PUT', '/sessions/x', 405],
    ['GET', '/nowhere', 404],
    ['POST', '/sessions/x/y/z/w', 404],
  ])('%s %s answers %d', async (method, path, status) => {
    expect((await stack.rest(method, path)).status).toBe(status)
  })

  it('answers pre-flights without credentials', async () => {
    const answer = await fetch(`${stack.masterUrl}/service/api/sessions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('generates a request id when the request has none', async () => {
    const { headers } = await stack.rest('GET', '/sessions')
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('garbage collection', () => {
  let collecting: Stack
  beforeAll(async () => {
    collecting = await startStack({
      nodes: 0,
      masterEnv: { SERVICE_SESSIONS_GARBAGE_INTERVAL: '1', SERVICE_SESSIONS_GARBAGE_THRESHOLD: '2' },
    })
  })
  afterAll(() => collecting.stop())

  const isCollected = (id: string): Promise<unknown> =>
    until('the unused session ends', async () => (await collecting.rest('GET', `/sessions/${id}`)).status === 404)

  it('ends sessions without participants that are older than the threshold in seconds, with their unused tokens', async () => {
    const { id } = await collecting.api.createSession()
    expect((await collecting.rest('POST', `/sessions/${id}/connection`, {})).status).toBe(200)
    await isCollected(id)
    expect(await collecting.postgres.query('SELECT 1 FROM connection')).toEqual([])
  })

  it('ends the other sessions when it cannot end one', async () => {
    await collecting.postgres.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN IF OLD.id = 'kept' THEN RAISE 'refused'; END IF; RETURN OLD; END $$`)
    await collecting.postgres.query(
      'CREATE TRIGGER refusal BEFORE DELETE ON session FOR EACH ROW EXECUTE FUNCTION refuse()',
    )
    await collecting.api.createSession({ customSessionId: 'kept' })
    const { id } = await collecting.api.createSession()
    await isCollected(id)
    expect((await collecting.rest('GET', '/sessions/kept')).status).toBe(200)
    await collecting.postgres.query('DROP TRIGGER refusal ON session')
    await isCollected('kept')
  })
})

it('a session that a frozen master has locked is free for the others within seconds', async () => {
  await stack.api.createSession({ customSessionId: 'locked' })
  const holder = new Client({ connectionString: stack.postgres.url })
  await holder.connect()
  await holder.query(`BEGIN; SELECT 1 FROM session WHERE id = 'locked' FOR UPDATE`)
  const answer = stack.rest('DELETE', '/sessions/locked')
  const [frozen] = stack.masters
  try {
    await untilLocked('the master waits for the lock', stack.postgres)
    frozen?.kill('SIGSTOP')
    await holder.end()
    await until('the frozen master has the lock', async () => {
      const silent = await stack.postgres.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      )
      return silent.length > 0
    })
    await until('another master ends it', async () => (await onSecondMaster('DELETE', '/sessions/locked')) === 204)
  } finally {
    frozen?.kill('SIGCONT')
  }
  expect((await answer).status).toBe(503)
  await until('the master goes on', async () => (await stack.rest('GET', '/sessions/locked')).status === 404)
})
