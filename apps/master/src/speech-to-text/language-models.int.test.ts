import { type RestAnswer, ServiceApi, type Stack, startStack, until } from '@session-service/testing'
import { ServiceError } from '@session-service/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

const NODE_ID = 'fake_node'
const TEST_MS = 60_000

let stack: Stack
let node: FakeMediaNode
/** The masters of the cluster; the last one has speech to text disabled. */
let masters: ServiceApi[]

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' } })
  await stack.addMaster({ SERVICE_PRO_SPEECH_TO_TEXT: 'disabled' })
  masters = stack.masters.map((_, nth) => stack.apiOf(nth))
  node = await FakeMediaNode.start(stack.nats.url, NODE_ID)
  await until('all masters know the node', async () => {
    const lists = await Promise.all(masters.map((api) => api.listMediaNodes()))
    return lists.every(({ content }) => content.some(({ id, connected }) => id === NODE_ID && connected))
  })
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})
afterEach(async () => {
  const { languageModels } = node
  languageModels.onLoad = () => undefined
  languageModels.slots = 2
  languageModels.subscriptions.clear()
  await until('no model is loading', () => languageModels.states.every(({ status }) => status === 'loaded'))
  for (const { lang } of languageModels.states) await send('unload', lang)
})

const send = (action: 'load' | 'unload', lang: string, { id = NODE_ID, at = 0 } = {}): Promise<RestAnswer> =>
  (masters[at] ?? stack.api).request('POST', `/speech-to-text/${action}`, { lang, mediaNode: { id } })
const modelsInView = async (id = NODE_ID) => (await stack.api.getMediaNode(id)).languageModels
const statusesOf = (answers: readonly RestAnswer[]): number[] => answers.map(({ status }) => status).toSorted()

/** Loads wait until the returned function is called. */
function stallLoads(): (error?: Error) => void {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  node.languageModels.onLoad = () => promise
  return (error) => (error ? reject(error) : resolve())
}

describe('loading and unloading a language model', () => {
  it('answers 200, 409 for a second load, 200 for the unload, and 409 for a second one, without bodies', async () => {
    expect(await send('load', 'en-US')).toMatchObject({ status: 200, body: undefined })
    expect(await send('load', 'en-US')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('loaded already') },
    })
    expect(await send('unload', 'en-US')).toMatchObject({ status: 200, body: undefined })
    expect(await send('unload', 'en-US')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('not loaded') },
    })
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'lang:'],
    ['an array', [], ''],
    ['no language', { mediaNode: { id: NODE_ID } }, 'lang:'],
    ['a null language', { lang: null, mediaNode: { id: NODE_ID } }, 'lang:'],
    ['an empty language', { lang: '', mediaNode: { id: NODE_ID } }, 'lang:'],
    ['a language that is no text', { lang: 5, mediaNode: { id: NODE_ID } }, 'lang:'],
    ['no node', { lang: 'en-US' }, 'mediaNode:'],
    ['a node that is no object', { lang: 'en-US', mediaNode: NODE_ID }, 'mediaNode:'],
    ['a node without id', { lang: 'en-US', mediaNode: {} }, 'mediaNode.id:'],
    ['an unknown node', { lang: 'en-US', mediaNode: { id: 'media_none' } }, 'mediaNode.id:'],
  ])('answers 400 that names the field for %s', async (_, body, field) => {
    for (const action of ['load', 'unload'])
      expect(await stack.rest('POST', `/speech-to-text/${action}`, body)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(field) },
      })
    expect(node.languageModels.states).toEqual([])
  })

  it.each(['load', 'unload'] as const)(
    'answers 404 for a %s of a model that the node does not have',
    async (action) => {
      expect(await send(action, 'xx-XX')).toMatchObject({
        status: 404,
        body: { message: expect.stringContaining('xx-XX') },
      })
    },
  )

  it('answers 405 for the unload of a model in use, and keeps the model', async () => {
    await send('load', 'en-US')
    node.languageModels.subscriptions.set('someone', 'en-US')
    expect(await send('unload', 'en-US')).toMatchObject({
      status: 405,
      body: { message: expect.stringContaining('in use') },
    })
    expect(node.languageModels.states).toMatchObject([{ lang: 'en-US', status: 'loaded' }])
  })

  it('answers 501 on a master with the module disabled, also for an invalid body', async () => {
    for (const action of ['load', 'unload'])
      for (const body of [{}, { lang: 'en-US', mediaNode: { id: NODE_ID } }])
        expect(await masters[2]?.request('POST', `/speech-to-text/${action}`, body)).toMatchObject({
          status: 501,
          body: { message: expect.stringContaining('SERVICE_PRO_SPEECH_TO_TEXT') },
        })
    expect(node.languageModels.states).toEqual([])
  })

  it('answers 503 with the reason and Retry-After without a free slot, and keeps the loaded models', async () => {
    node.languageModels.slots = 1
    await send('load', 'en-GB')
    const answer = await send('load', 'en-US')
    expect(answer).toMatchObject({ status: 503, body: { message: expect.stringContaining('slots') } })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(node.languageModels.states).toMatchObject([{ lang: 'en-GB', status: 'loaded' }])
  })

  it('answers 502 with the reason of a model that cannot be loaded, and another load is possible', async () => {
    node.languageModels.onLoad = () => {
      throw new ServiceError('LAUNCH_FAILED', 'the language model en-US cannot be loaded: HCLr.fst is truncated')
    }
    expect(await send('load', 'en-US')).toMatchObject({
      status: 502,
      body: { message: expect.stringContaining('HCLr.fst is truncated') },
    })
    node.languageModels.onLoad = () => undefined
    expect((await send('load', 'en-US')).status).toBe(200)
  })

  it('loads a model once for twenty requests at once at two masters: one 200, nineteen 409', async () => {
    const { started } = node.languageModels
    const release = stallLoads()
    const loads = Array.from({ length: 20 }, (_, nth) => send('load', 'en-US', { at: nth % 2 }))
    const isRefused = loads.map((load) => load.then(({ status }) => status === 409))
    await until('a load is refused', () => Promise.race(isRefused))
    release()
    expect(statusesOf(await Promise.all(loads))).toEqual([200, ...Array<number>(19).fill(409)])
    expect(node.languageModels.started).toBe(started + 1)
  })
})

describe('a load that takes long', () => {
  it('is shown as loading, and other requests are answered meanwhile', async () => {
    const release = stallLoads()
    const load = send('load', 'en-US')
    await until('the view shows that it is loading', async () => (await modelsInView())?.[0]?.status === 'loading')
    expect((await send('load', 'en-US')).status).toBe(409)
    expect((await send('unload', 'en-US')).status).toBe(409)
    expect((await stack.rest('POST', '/sessions', {})).status).toBe(200)
    release()
    expect((await load).status).toBe(200)
    await until('the view shows that it is loaded', async () => (await modelsInView())?.[0]?.status === 'loaded')
    expect(await modelsInView()).toEqual([{ lang: 'en-US', status: 'loaded', streams: 0, memory: 204_800 }])
  })

  it('continues after its client has disconnected, and its result is visible to the next request', async () => {
    const release = stallLoads()
    const impatient = new AbortController()
    const load = stack.api.loadLanguageModel(
      { lang: 'en-US', mediaNode: { id: NODE_ID } },
      { signal: impatient.signal },
    )
    const failed = expect(load).rejects.toThrow()
    await until('the load has started', () => node.languageModels.states.length === 1)
    impatient.abort()
    await failed
    release()
    await until('the model is loaded', () => node.languageModels.states[0]?.status === 'loaded')
    expect((await send('load', 'en-US')).status).toBe(409)
    expect((await send('unload', 'en-US')).status).toBe(200)
  })

  it(
    'answers 503 soon after the loss of the node, whose models leave the view, and other nodes keep theirs',
    async () => {
      const doomed = await FakeMediaNode.start(stack.nats.url, 'doomed_node')
      const isShown = async (): Promise<boolean> => (await stack.rest('GET', '/media-nodes/doomed_node')).status === 200
      await until('the node is registered', isShown)
      await send('load', 'en-US')
      expect((await send('load', 'en-US', { id: 'doomed_node' })).status).toBe(200)
      await until('both views show a model', async () => {
        return (await modelsInView())?.length === 1 && (await modelsInView('doomed_node'))?.length === 1
      })
      const { promise: stalled, resolve: release } = Promise.withResolvers<void>()
      doomed.languageModels.onLoad = () => stalled
      const load = send('load', 'en-GB', { id: 'doomed_node' })
      await until('the load has started', () => doomed.languageModels.states.length === 2)
      const before = performance.now()
      const killed = doomed.kill()
      const answer = await load
      expect(answer).toMatchObject({ status: 503, body: { message: expect.stringContaining('lost') } })
      expect(answer.headers.get('retry-after')).not.toBeNull()
      // Long before the time limit of a load, 70 s.
      expect(performance.now() - before).toBeLessThan(20_000)
      release()
      await killed
      await until('the view shows no models of the lost node', async () => !(await modelsInView('doomed_node')))
      expect(await modelsInView()).toHaveLength(1)
      expect(await send('load', 'en-GB', { id: 'doomed_node' })).toMatchObject({
        status: 503,
        body: { message: expect.stringContaining('not connected') },
      })
    },
    TEST_MS,
  )
})

it('a draining node loads and unloads models for the sessions that it still has', async () => {
  const { token } = await stack.api.createConnection((await stack.api.createSession({ mediaNode: { id: NODE_ID } })).id)
  const client = await stack.openSocket(token ?? '')
  await client.join()
  await stack.api.updateMediaNode(NODE_ID, { status: 'waiting-idle-to-terminate' })
  expect((await send('load', 'en-US')).status).toBe(200)
  expect((await send('unload', 'en-US')).status).toBe(200)
  await stack.api.updateMediaNode(NODE_ID, { status: 'running' })
  await client.request('leave', {})
})

it('the view of a master with the module disabled has no languageModels', async () => {
  expect(await masters[2]?.getMediaNode(NODE_ID)).not.toHaveProperty('languageModels')
  await until('the view of the others is empty', async () => (await modelsInView())?.length === 0)
})

it('a master that shuts down answers a load in progress with 503', async () => {
  const release = stallLoads()
  const load = send('load', 'en-US', { at: 1 })
  await until('the load has started', () => node.languageModels.states.length === 1)
  stack.masters[1]?.kill('SIGTERM')
  expect(await load).toMatchObject({ status: 503, body: { message: expect.stringContaining('shutting down') } })
  expect(await stack.masters[1]?.exited).toBe(0)
  release()
})
