/** Language models of a media node as a process of its own. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { COST } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { TEST_ENGINES } from '@session-service/speech/fixtures'
import { metricOf, metricsOf, NodeRig, workersOf } from '../fixtures/node-rig.js'
import { isRunning } from '../fixtures/processes.js'
import { audioTrack, publication } from '../rooms/fixtures/samples.js'
import { ModelsFolder } from '../speech-to-text/fixtures/models-folder.js'

const LONG_MS = 120_000
const MIB = 2 ** 20

const rig = NodeRig.forTests()
const [tested] = TEST_ENGINES
const withEngine = tested ? it : it.skip
const models = new ModelsFolder()
beforeAll(() => tested && models.link('en-US', tested))
afterAll(() => models.remove())

/** A node with a model, and the process of the model. */
async function launchLoaded() {
  const { name } = tested!.engine
  const { node, nodeId } = await rig.launchReady({
    MEDIA_NODE_SPEECH_TO_TEXT_MODELS: models.path,
    MEDIA_NODE_SPEECH_TO_TEXT_SLOTS: '2',
    ...('library' in tested!.engine && { MEDIA_NODE_VOSK_LIBRARY: tested!.engine.library }),
  })
  const workers = workersOf(node)
  await rig.master.ask(nodeId, 'loadLanguageModel', { lang: 'en-US', engine: name })
  const slots = workersOf(node).filter((pid) => !workers.includes(pid))
  expect(slots).toHaveLength(1)
  return { node, nodeId, name, slots }
}

withEngine(
  'a node reports its language models and their streams, and ends their processes on SIGTERM',
  async () => {
    const { node, nodeId, name, slots } = await launchLoaded()
    for (const connectionId of ['pub', 'sub']) await rig.master.join(nodeId, 'room', connectionId)
    await rig.master.ask(nodeId, 'publish', publication('room', 'pub', 'str', [audioTrack()]))
    const heartbeat = () => rig.master.lastHeartbeatOf(nodeId)
    const before = await until('the stream is counted', () => (heartbeat()?.streams === 1 ? heartbeat() : undefined))
    const settings = { engine: name, strategy: 'manual' as const, unloadAfterMs: 0 }
    const subscription = { roomId: 'room', connectionId: 'sub', publisherId: 'pub' }
    await rig.master.ask(nodeId, 'subscribeToSpeechToText', { ...subscription, lang: 'en-US', settings })
    const recognizing = await until('the recognized stream is counted', () =>
      heartbeat()?.languageModels[0]?.streams === 1 ? heartbeat() : undefined,
    )
    const memoryBytes = recognizing.languageModels[0]?.memoryBytes ?? 0
    expect(recognizing.languageModels).toMatchObject([{ lang: 'en-US', status: 'loaded', streams: 1 }])
    expect(memoryBytes).toBeGreaterThan(50 * MIB)
    expect(recognizing.memoryBytes).toBeGreaterThan(memoryBytes)
    expect(recognizing.slots?.speechToText).toEqual({ used: 1, total: 2 })
    // The commitment for a young room falls meanwhile.
    expect(recognizing.committed - before.committed).toBeGreaterThan(COST.speechStreams - 1)
    expect((await rig.master.ask(nodeId, 'describe', {})).slots).toMatchObject({ speechToText: { used: 1, total: 2 } })
    expect(await metricOf(node, 'speech_to_text_models_loaded')).toBe(1)
    expect(await metricOf(node, 'speech_to_text_streams')).toBe(1)
    expect(await metricOf(node, 'speech_to_text_dropped_seconds')).toBe(0)
    expect(await metricsOf(node)).toContain('session_service_speech_to_text_loads_total{result="loaded"} 1')
    await expect(rig.master.ask(nodeId, 'unloadLanguageModel', { lang: 'en-US' })).rejects.toMatchObject({
      code: 'IN_USE',
    })
    await rig.master.ask(nodeId, 'unsubscribeFromSpeechToText', subscription)
    await until('no stream is counted', () => heartbeat()?.languageModels[0]?.streams === 0)
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(slots.filter(isRunning)).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'the language models of a node end with it when it is killed',
  async () => {
    const { node, slots } = await launchLoaded()
    node.kill('SIGKILL')
    await node.exited
    await until('their processes have gone too', () => slots.filter(isRunning).length === 0)
  },
  LONG_MS,
)
