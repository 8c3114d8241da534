import { ServiceError } from '@session-service/contract'
import { type RestAnswer, type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

const PATIENCE_MS = 30_000
const SPEECH = { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk', SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: 'true' }
const [DISABLED, WITHOUT_TRANSCRIPTS, CE] = [2, 3, 4] as const

let stack: Stack
let node: FakeMediaNode
const clients: SignallingClient[] = []

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: SPEECH })
  await stack.addMaster({ SERVICE_PRO_SPEECH_TO_TEXT: 'disabled' })
  await stack.addMaster({ SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: 'false' })
  await stack.addMaster({ SERVICE_EDITION: 'ce' })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
}, 60_000)
afterEach(async () => {
  node.onCommand = () => undefined
  for (const client of clients.splice(0)) if (client.isOpen) await client.request('leave', {}).catch(() => undefined)
  node.commands.length = 0
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

const start = (id: string, body: unknown, master = 0): Promise<RestAnswer> =>
  stack.apiOf(master).request('POST', `/sessions/${id}/speech-to-text`, body)
const get = (id: string, master = 0): Promise<RestAnswer> =>
  stack.apiOf(master).request('GET', `/sessions/${id}/speech-to-text`)
const stop = (id: string, master = 0): Promise<RestAnswer> =>
  stack.apiOf(master).request('DELETE', `/sessions/${id}/speech-to-text`)

async function join(sessionId: string, master = 0): Promise<SignallingClient> {
  const { token } = await stack.api.createConnection(sessionId)
  const client = await stack.openSocket(stack.atMaster(master, token))
  clients.push(client)
  await client.join()
  return client
}

async function newSession(): Promise<{ id: string; roomId: string }> {
  const { id, createdAt } = await stack.api.createSession()
  return { id, roomId: `${id}_${createdAt}` }
}

const transcribes = (on: FakeMediaNode, roomId: string, lang: string | undefined): Promise<unknown> =>
  until(
    `${roomId} is transcribed in ${lang}`,
    () => on.languageModels.transcriptions.get(roomId)?.lang === lang,
    PATIENCE_MS,
  )

/** Waits until the master of the requests knows the node. */
const knows = ({ nodeId }: FakeMediaNode): Promise<unknown> =>
  until(`the master knows ${nodeId}`, async () =>
    (await stack.apiOf(0).listMediaNodes()).content.some(({ id, connected }) => id === nodeId && connected),
  )

describe('POST, GET and DELETE sessions/{id}/speech-to-text', () => {
  it('start, replace, show and end the transcription of a session with participants', async () => {
    const { id, roomId } = await newSession()
    await join(id)
    const body = { object: 'transcription', sessionId: id, lang: 'en-US' }
    expect(await start(id, { lang: 'en-US' })).toMatchObject({ status: 200, body })
    const settings = { engine: 'vosk', strategy: 'on_demand', unloadAfterMs: 60_000, transcripts: true }
    const [call] = node.callsOf('startTranscription') as [{ settings: object }]
    expect(call).toEqual({ roomId, epoch: 1, lang: 'en-US', settings: { ...settings, ...call.settings } })
    expect(await start(id, { lang: 'en-US' }, 1)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('en-US') },
    })
    expect(await start(id, { lang: 'en-GB' }, 1)).toMatchObject({ status: 200, body: { lang: 'en-GB' } })
    expect(node.languageModels.transcriptions.get(roomId)?.lang).toBe('en-GB')
    expect(await get(id)).toMatchObject({ status: 200, body: { ...body, lang: 'en-GB' } })
    expect(await stop(id, 1)).toMatchObject({ status: 204, body: undefined })
    expect(node.languageModels.transcriptions.has(roomId)).toBe(false)
    for (const answer of [await stop(id), await get(id, 1)])
      expect(answer).toMatchObject({ status: 404, body: { message: expect.stringContaining('not transcribed') } })
    expect(await stack.api.startTranscription(id, { lang: 'en-US' })).toEqual(body)
    expect(await stack.api.getTranscription(id)).toEqual(body)
    await stack.api.stopTranscription(id)
  })

  it('accept one of many concurrent requests for the same language', async () => {
    const { id } = await newSession()
    await join(id)
    const answers = await Promise.all(Array.from({ length: 10 }, (_, nth) => start(id, { lang: 'en-US' }, nth % 2)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
  })

  it.each([undefined, {}, [], { lang: null }, { lang: '' }, { lang: 7 }, { lang: 'x'.repeat(65) }])(
    'answer 400 that names the language for %j',
    async (body) => {
      const { id } = await newSession()
      const { status, body: error } = await start(id, body)
      expect([status, Array.isArray(body) || /lang:/.test((error as { message: string }).message)]).toEqual([400, true])
    },
  )

  it('answer 404 for an unknown session and in the free edition, 501 when speech to text or transcripts are off', async () => {
    const { id } = await newSession()
    const statuses = async (session: string, master: number): Promise<number[]> =>
      [await start(session, { lang: 'en-US' }, master), await get(session, master), await stop(session, master)].map(
        ({ status }) => status,
      )
    expect(await statuses('nowhere', 0)).toEqual([404, 404, 404])
    expect(await statuses(id, CE)).toEqual([404, 404, 404])
    expect(await statuses(id, DISABLED)).toEqual([501, 501, 501])
    expect(await start(id, { lang: 'en-US' }, WITHOUT_TRANSCRIPTS)).toMatchObject({
      status: 501,
      body: { message: expect.stringContaining('SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS') },
    })
    // None of them has left something to end.
    expect((await stop(id)).status).toBe(404)
  })

  it('answer the refusal of the media node, and keep the former language', async () => {
    const { id, roomId } = await newSession()
    await join(id)
    await start(id, { lang: 'en-GB' })
    expect(await start(id, { lang: 'xx-XX' })).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('xx-XX') },
    })
    for (const [code, status] of [
      ['NOT_READY', 406],
      ['LAUNCH_FAILED', 502],
      ['NO_CAPACITY', 503],
    ] as const) {
      node.onCommand = (command) => {
        if (command === 'startTranscription') throw new ServiceError(code, `the reason of ${code}`)
      }
      const { body, ...answer } = await start(id, { lang: 'en-US' })
      expect([answer.status, body]).toMatchObject([status, { message: `the reason of ${code}` }])
    }
    expect((await start(id, { lang: 'en-GB' })).status).toBe(409)
    expect(node.languageModels.transcriptions.get(roomId)?.lang).toBe('en-GB')
  })
})

describe('the transcription of a session', () => {
  it('starts with the first participant of a session without one', async () => {
    const { id, roomId } = await newSession()
    expect((await start(id, { lang: 'en-US' })).status).toBe(200)
    expect(node.callsOf('startTranscription')).toEqual([])
    await join(id, 1)
    await transcribes(node, roomId, 'en-US')
  })

  it('stays ended when a participant joins at the same time', async () => {
    const { id, roomId } = await newSession()
    await start(id, { lang: 'en-US' })
    const { promise: isEnded, resolve: ended } = Promise.withResolvers<void>()
    node.onCommand = (command) => (command === 'startTranscription' ? isEnded : undefined)
    await join(id)
    // Those of former tests are still being put in order.
    const calls = (command: 'startTranscription' | 'stopTranscription'): number =>
      node.callsOf(command).filter((call) => (call as { roomId?: string }).roomId === roomId).length
    await until('the join starts it', () => calls('startTranscription') === 1)
    expect((await stop(id)).status).toBe(204)
    expect(calls('stopTranscription')).toBe(1)
    ended()
    await until('it is ended again', () => calls('stopTranscription') === 2)
    await transcribes(node, roomId, undefined)
  })

  it('is repaired when the media node and the session differ', async () => {
    const [lost, ended] = [await newSession(), await newSession()]
    for (const { id } of [lost, ended]) await join(id)
    await start(lost.id, { lang: 'en-US' })
    // A refused or lost command, and a session whose end of the transcription did not reach the node.
    node.languageModels.transcriptions.clear()
    node.languageModels.transcriptions.set(ended.roomId, { roomId: ended.roomId, epoch: 1, lang: 'en-US' })
    await transcribes(node, lost.roomId, 'en-US')
    await transcribes(node, ended.roomId, undefined)
  }, 60_000)

  it('continues on another media node, also after all masters have restarted', async () => {
    const { id, roomId } = await newSession()
    await start(id, { lang: 'en-US' })
    const masters = stack.masters.slice(0, 2)
    for (const master of masters) master.kill('SIGKILL')
    await Promise.all(masters.map((master) => master.exited))
    await Promise.all(masters.map((master) => stack.revive(master)))
    await knows(node)
    const alice = await join(id)
    await transcribes(node, roomId, 'en-US')
    const other = await FakeMediaNode.start(stack.nats.url, 'other_node')
    await knows(other)
    await node.kill()
    await alice.waitFor('mediaLost', undefined, PATIENCE_MS)
    await alice.request('rejoin', {})
    await transcribes(other, roomId, 'en-US')
    expect(other.languageModels.transcriptions.get(roomId)?.epoch).toBe(2)
    expect((await stop(id)).status).toBe(204)
    expect(other.languageModels.transcriptions.size).toBe(0)
    await other.stop()
  }, 60_000)
})
