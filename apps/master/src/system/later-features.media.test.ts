import { ServiceApi, startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/** Routes of features that are disabled: which error they report first. */
let stack: Stack
/** Another master of the same cluster, with the features enabled. */
let on: ServiceApi
let nodeId: string

beforeAll(async () => {
  stack = await startStack()
  await stack.addMaster({ SERVICE_RECORDING: 'true' })
  on = stack.apiOf(1)
  await stack.api.createSession({ customSessionId: 'empty' })
  await stack.api.createSession({ customSessionId: 'relayed', mediaMode: 'RELAYED' })
  await stack.api.createSession({ customSessionId: 'busy' })
  await stack.rest('POST', '/sessions', { customSessionId: 'mute', defaultRecordingProperties: { hasVideo: false } })
  for (const session of ['relayed', 'busy', 'mute']) await stack.join(session)
  nodeId = (await stack.api.getSession('busy')).mediaNodeId ?? ''
})
afterAll(() => stack.stop())

const RECORDING_ROUTES = [
  ['POST', '/recordings/start'],
  ['POST', '/recordings/stop/busy'],
  ['GET', '/recordings/busy'],
  ['GET', '/recordings'],
  ['DELETE', '/recordings/busy'],
] as const

describe('recordings with the module disabled', () => {
  it.each(RECORDING_ROUTES)('%s %s answers 501 before other errors', async (method, path) => {
    const answer = await stack.rest(method, path, method === 'POST' ? { name: 5 } : undefined)
    expect(answer).toMatchObject({
      status: 501,
      body: { status: 501, message: expect.stringContaining('SERVICE_RECORDING') },
    })
  })
})

describe('recordings with the module enabled', () => {
  it('are an empty list, and 404 for each id', async () => {
    expect(await on.request('GET', '/recordings')).toMatchObject({ status: 200, body: { count: 0, items: [] } })
    for (const [method, path] of RECORDING_ROUTES.filter(([, each]) => each.endsWith('/busy'))) {
      expect(await on.request(method, path)).toMatchObject({
        status: 404,
        body: { message: expect.stringContaining('busy') },
      })
    }
    expect((await on.request('POST', '/recordings/stop')).status).toBe(405)
    expect((await on.request('DELETE', '/recordings')).status).toBe(405)
  })

  /** All options are valid except the layout, which is checked last. */
  const ACCEPTED = 'accepted'
  const NO_LAYOUT = 'customLayout: there is no'
  const CASES: [string, unknown, number, string][] = [
    ['no body', undefined, 400, 'session:'],
    ['no session', { name: 'x' }, 400, 'session:'],
    ['a null session', { session: null }, 400, 'session:'],
    ['an empty session', { session: '' }, 400, 'session:'],
    ['a session that is no text', { session: 5 }, 400, 'session:'],
    ['an array', [], 400, ''],
    ['an unknown session and a bad name', { session: 'missing', name: '..' }, 404, 'missing'],
    ['a session without participants, and a bad name', { session: 'empty', name: '..' }, 406, 'empty'],
    ['a relayed session, and a bad name', { session: 'relayed', name: '..' }, 409, 'relayed'],
    ...(
      [
        ['name', 5, 400],
        ['name', '../../x', 400],
        ['name', 'a/b', 400],
        ['name', '%2e%2e', 400],
        ['name', 'a\0', 400],
        ['name', '😀', 400],
        ['name', 'x'.repeat(300), 400],
        ['hasAudio', 'true', 400],
        ['hasVideo', 1, 400],
        ['outputMode', 'BOTH', 400],
        ['recordingLayout', 'MOSAIC', 400],
        ['customLayout', '../../etc', 400],
        ['customLayout', 'a/../b', 400],
        ['customLayout', '/etc', 400],
        ['customLayout', 'a\\b', 400],
        ['customLayout', '%2e%2e/x', 400],
        ['customLayout', 'http://127.0.0.1/', 400],
        ['customLayout', 'file:///etc/passwd', 400],
        ['resolution', 1280, 400],
        ['resolution', '1280', 400],
        ['resolution', 'x', 400],
        ['resolution', '-100x100', 400],
        ['resolution', '1x1', 422],
        ['resolution', '99999x9', 422],
        ['resolution', '99x720', 422],
        ['resolution', '1280x2000', 422],
        ['resolution', '100x1999', ACCEPTED],
        ['frameRate', '25', 400],
        ['frameRate', 2.5, 400],
        ['frameRate', 0, 422],
        ['frameRate', 121, 422],
        ['frameRate', 1e9, 422],
        ['frameRate', 1, ACCEPTED],
        ['frameRate', 120, ACCEPTED],
        ['shmSize', 'big', 400],
        ['shmSize', -1, 422],
        ['shmSize', 134_217_727, 422],
        ['shmSize', 134_217_728, ACCEPTED],
        ['ignoreFailedStreams', 'no', 400],
        ['mediaNode', 5, 400],
        ['mediaNode', {}, 400],
        ['mediaNode', { id: 'media_none' }, 400],
        ['mediaNode', 'media_none', 400],
        ['name', 'A-z_0~9', ACCEPTED],
        ['name', '', ACCEPTED],
        ['name', '-i', ACCEPTED],
      ] as const
    ).map(([field, value, status]): [string, unknown, number, string] => [
      `${field} ${JSON.stringify(value).slice(0, 40)}`,
      { session: 'busy', recordingLayout: 'CUSTOM', [field]: value },
      status === ACCEPTED ? 400 : status,
      status === ACCEPTED ? NO_LAYOUT : field,
    ]),
    ['neither sound nor picture', { session: 'busy', hasAudio: false, hasVideo: false }, 422, 'hasVideo'],
    ['neither, by the default of the session', { session: 'mute', hasAudio: false }, 422, 'hasVideo'],
    ['a layout that is not there', { session: 'busy', recordingLayout: 'CUSTOM' }, 400, 'customLayout'],
    ['a member that is not known', { session: 'busy', recordingLayout: 'CUSTOM', colour: 'blue' }, 400, NO_LAYOUT],
    [
      'nulls',
      {
        session: 'busy',
        recordingLayout: 'CUSTOM',
        name: null,
        hasAudio: null,
        resolution: null,
        frameRate: null,
        shmSize: null,
        mediaNode: null,
      },
      400,
      NO_LAYOUT,
    ],
  ]
  it.each(CASES)('answer a start with %s by its first error', async (_, body, status, text) => {
    const answer = await on.request('POST', '/recordings/start', body)
    expect(answer).toMatchObject({ status, body: { status, message: expect.stringContaining(text) } })
  })

  it('use the node of the session, given as an object or a string', async () => {
    for (const mediaNode of [{ id: nodeId }, nodeId]) {
      const body = { session: 'busy', recordingLayout: 'CUSTOM', mediaNode }
      const answer = await on.request('POST', '/recordings/start', body)
      expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(NO_LAYOUT) } })
    }
    expect((await stack.api.getSession('busy')).recording).toBe(false)
  })
})

it('shows the media node that a session was created for, given as an object or a string', async () => {
  for (const mediaNode of [{ id: nodeId }, nodeId]) {
    const { body } = await stack.rest('POST', '/sessions', { mediaNode })
    expect(body).toMatchObject({ mediaNode: { id: nodeId } })
    expect(body).not.toHaveProperty('mediaNodeId')
  }
  expect(await stack.api.getSession('busy')).not.toHaveProperty('mediaNode')
})
