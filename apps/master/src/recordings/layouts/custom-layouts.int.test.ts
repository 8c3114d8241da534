import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RecordingJob } from '@session-service/contract'
import { EventSink, SignallingClient, type Stack, startStack, until, webhookEnv } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { rawRequest } from '../storage/fixtures/raw-request.js'
import { SILENT_TRACK, FakeMediaNode } from '../fixtures/fake-media-node.js'

type Page = Extract<RecordingJob['output'], { kind: 'CUSTOM' }>['page']

const PATIENCE_MS = 60_000
let stack: Stack
let sink: EventSink
let node: FakeMediaNode
let root: string
let canaryHits = 0
const canary = createServer((_, response) => {
  canaryHits += 1
  response.end('<!doctype html>')
})
const clients: SignallingClient[] = []

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'layouts-'))
  for (const folder of ['grid/fonts', 'other', '.hidden', 'empty']) await mkdir(join(root, folder), { recursive: true })
  const files = [
    'index.html',
    'grid/index.html',
    'grid/fonts/a.woff2',
    'grid/.env',
    'other/index.html',
    '.hidden/index.html',
    'passwd',
    'grid/key.pem',
    'grid/page.html.bak',
  ]
  for (const file of files) await writeFile(join(root, file), `this is ${file}`)
  await symlink('/etc/hostname', join(root, 'grid/link.html'))
  await symlink(join(root, 'other'), join(root, 'linked'))
  execFileSync('mkfifo', [join(root, 'grid/pipe.html')])
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
  sink = await EventSink.open()
  const own = {
    SERVICE_RECORDING: 'true',
    SERVICE_RECORDING_CUSTOM_LAYOUT: root,
    SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '0',
  }
  const hosts = { SERVICE_RECORDING_LAYOUT_HOSTS: '["layouts.example.org"]' }
  stack = await startStack({ nodes: 0, masterEnv: { ...webhookEnv(sink), ...own, ...hosts } })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
}, PATIENCE_MS)
afterEach(async () => {
  for (const client of clients.splice(0)) if (client.isOpen) await client.request('leave', {}).catch(() => undefined)
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
  await sink.close()
  await new Promise((resolve) => canary.close(resolve))
  await rm(root, { recursive: true })
  expect(canaryHits).toBe(0)
})

async function createActiveSession(): Promise<{ id: string; alice: SignallingClient; streamId: string }> {
  const { id } = await stack.api.createSession()
  const alice = await stack.join(id)
  clients.push(alice)
  const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
  return { id, alice, streamId }
}

const start = (session: string, body: object = {}) =>
  stack.rest('POST', '/recordings/start', { session, recordingLayout: 'CUSTOM', customLayout: 'grid', ...body })

/** The page that the media node got for the recording of the session. */
function pageFor(id: string): Page {
  const job = [...node.jobs.values()].find(({ job: { sessionId } }) => sessionId === id)?.job
  if (job?.output.kind !== 'CUSTOM') throw new Error('the media node got no page')
  return job.output.page
}

async function openRecorder(token: string): Promise<SignallingClient> {
  const recorder = await SignallingClient.open(token)
  clients.push(recorder)
  return recorder
}

describe('a recorder', () => {
  it('gets a page, and can join its session once', async () => {
    const { id } = await createActiveSession()
    expect((await start(id)).status).toBe(200)
    const { url, token, cookie } = pageFor(id)
    expect(url).toBe(`${stack.masterUrl}/service/layouts/grid/index.html`)
    expect(JSON.stringify(pageFor(id))).not.toContain(stack.secret)
    expect(await (await fetch(url, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } })).text()).toBe(
      'this is grid/index.html',
    )
    const recorder = await openRecorder(token)
    expect(await recorder.join()).toMatchObject({ sessionId: id, role: 'SUBSCRIBER' })
    await expect((await openRecorder(token)).join()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('is in no list, count, event or snapshot, and can only receive', async () => {
    const { id, alice, streamId } = await createActiveSession()
    await start(id)
    const recorder = await openRecorder(pageFor(id).token)
    const { connectionId, snapshot } = await recorder.join()
    expect(snapshot.streams).toMatchObject([{ streamId }])
    await recorder.request('subscribe', { streamId, rtpCapabilities: { codecs: [], headerExtensions: [] } })
    const bob = await stack.join(id)
    clients.push(bob)
    await recorder.waitFor('connectionCreated')
    for (const call of [
      recorder.request('signal', { data: 'here', to: [] }),
      recorder.request('publish', { tracks: [SILENT_TRACK] }),
      recorder.request('forceDisconnect', { connectionId: 'con_x' }),
    ])
      await expect(call).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await bob.request('signal', { data: 'to all', to: [] })
    expect(await recorder.waitFor('signal')).toMatchObject({ data: 'to all' })

    for (const path of [
      `/sessions/${id}`,
      `/sessions/${id}?pendingConnections=true`,
      '/sessions?pendingConnections=true',
    ]) {
      const { body } = await stack.rest('GET', path)
      expect(JSON.stringify(body)).not.toContain(connectionId)
    }
    expect((await stack.rest('GET', `/sessions/${id}`)).body).toMatchObject({ connections: { numberOfElements: 2 } })
    const own = `/sessions/${id}/connection/${connectionId}`
    expect((await stack.rest('GET', own)).status).toBe(404)
    expect((await stack.rest('DELETE', own)).status).toBe(404)
    expect((await stack.rest('PATCH', own, { role: 'PUBLISHER' })).status).toBe(404)
    const all = (await stack.rest('GET', `/sessions/${id}/connection?pendingConnections=true`)).body
    expect(all).toMatchObject({ numberOfElements: 2 })

    await recorder.request('leave', {})
    await until('the media node has removed it', () =>
      node.callsOf('leave').some((call) => JSON.stringify(call).includes(connectionId)),
    )
    for (const client of [alice, bob]) expect(JSON.stringify(client.notifications)).not.toContain(connectionId)
    await alice.request('leave', {})
    await bob.request('leave', {})
    await sink.ended(id)
    expect(JSON.stringify(sink.ofSession(id))).not.toContain(connectionId)
    expect(sink.names(id).filter((name) => name === 'participantLeft')).toHaveLength(2)
  })

  it('keeps no session alive', async () => {
    const { id, alice } = await createActiveSession()
    await start(id)
    const recorder = await openRecorder(pageFor(id).token)
    await recorder.join()
    await alice.request('leave', {})
    await sink.ended(id)
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    const ended = sink.ofSession(id).find(({ event }) => event.event === 'sessionDestroyed')
    expect(ended?.event).toMatchObject({ reason: 'lastParticipantLeft' })
  })

  it('can resume on another socket and stays hidden', async () => {
    const { id } = await createActiveSession()
    await start(id)
    const { token } = pageFor(id)
    const recorder = await openRecorder(token)
    const { connectionId, resumeKey } = await recorder.join()
    recorder.terminate()
    const again = await openRecorder(token)
    expect(await again.request('resume', { connectionId, resumeKey })).toMatchObject({ role: 'SUBSCRIBER' })
    expect((await stack.rest('GET', `/sessions/${id}`)).body).toMatchObject({ connections: { numberOfElements: 1 } })
  })

  it('cannot join after its token has expired', async () => {
    const { id } = await createActiveSession()
    await start(id)
    const { token } = pageFor(id)
    const late = await stack.postgres.query(
      `UPDATE connection SET evict_at = clock_timestamp() - interval '1 second' WHERE status = 'awaited' AND session_id = $1 RETURNING 1`,
      [id],
    )
    expect(late).toHaveLength(1)
    await expect((await openRecorder(token)).join()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe('the start of a recording', () => {
  it.each([
    ['a folder without a page', 'empty', 400],
    ['a missing folder', 'missing', 400],
    ['a link to a folder', 'linked', 400],
    ['a traversal', '../../../etc', 400],
    ['an absolute path', '/etc', 400],
    ['an encoded traversal', '%2e%2e/etc', 400],
    ['a backslash', '..\\etc', 400],
    ['a hidden folder', '.hidden', 400],
    ['a loopback address', () => `http://127.0.0.1:${(canary.address() as AddressInfo).port}/`, 400],
    ['localhost', () => `http://localhost:${(canary.address() as AddressInfo).port}/`, 400],
    ['a loopback address as a number', () => `http://2130706433:${(canary.address() as AddressInfo).port}/`, 400],
    ['a cloud metadata address', 'http://169.254.169.254/latest/meta-data/', 400],
    ['a file URL', 'file:///etc/passwd', 400],
    ['a data URL', 'data:text/html,hello', 400],
    ['credentials', 'https://user@layouts.example.org/', 400],
    ['a port that is not allowed', 'https://layouts.example.org:8443/', 400],
  ])('with %s is refused with an error that names customLayout, and leaves no recording', async (_, layout, status) => {
    const { id } = await createActiveSession()
    const customLayout = typeof layout === 'string' ? layout : layout()
    const answer = await start(id, { customLayout })
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringContaining('customLayout: ')])
    expect((await stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    expect([...node.jobs.values()].filter(({ job }) => job.sessionId === id)).toEqual([])
  })

  it('with an allowed URL gives the page a token and no cookie', async () => {
    const { id } = await createActiveSession()
    await start(id, { customLayout: 'https://layouts.example.org/grid?colour=blue' })
    const page = pageFor(id)
    expect(page).toEqual({
      url: 'https://layouts.example.org/grid?colour=blue',
      token: expect.stringContaining('tok_'),
    })
  })
})

describe('the files of layouts', () => {
  const ask = (path: string, headers: Record<string, string> = { authorization: stack.authorization }) =>
    fetch(`${stack.masterUrl}/service/layouts/${path}`, { headers })

  it.each([
    ['index.html', 'text/html; charset=utf-8'],
    ['grid/index.html', 'text/html; charset=utf-8'],
    ['grid/fonts/a.woff2', 'font/woff2'],
  ])('%s is served as %s, with credentials only', async (path, type) => {
    const answer = await ask(path)
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      type,
      `this is ${path}`,
    ])
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await ask(path, {})).status).toBe(401)
    expect((await ask(path, { authorization: 'Basic d3Jvbmc6d3Jvbmc=' })).status).toBe(401)
  })

  it.each([
    'grid',
    'grid/.env',
    '.hidden/index.html',
    'grid/link.html',
    'linked/index.html',
    'grid/pipe.html',
    'grid/../index.html',
    '../layouts/index.html',
    '%2e%2e/%2e%2e/etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    '..%5c..%5cetc',
    'grid//index.html',
    'grid%00/index.html',
    '/etc/passwd',
    'passwd',
    'grid/key.pem',
    'grid/page.html.bak',
  ])('GET /service/layouts/%s is refused with and without credentials', async (path) => {
    for (const header of [`authorization: ${stack.authorization}`, 'accept: */*']) {
      const { status } = await rawRequest(stack.masterUrl, `GET /service/layouts/${path}`, [header])
      expect([400, 401, 404, 405]).toContain(status)
    }
  })

  it('can be fetched by a recorder for its own layout only', async () => {
    const { id } = await createActiveSession()
    await start(id)
    const { cookie } = pageFor(id)
    const headers = { cookie: `${cookie?.name}=${cookie?.value}` }
    expect((await ask('grid/fonts/a.woff2', headers)).status).toBe(200)
    expect((await ask('other/index.html', headers)).status).toBe(401)
    expect((await ask('index.html', headers)).status).toBe(401)
    expect((await fetch(`${stack.masterUrl}/service/api/sessions`, { headers })).status).toBe(401)
  })

  it('include the client library, without credentials', async () => {
    const answer = await ask('recorder.js', {})
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect(await answer.text()).toContain('connectRecorder')
  })
})
