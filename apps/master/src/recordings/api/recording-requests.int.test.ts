import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RecordingTestbed } from '../fixtures/recording-testbed.js'

let desk: RecordingTestbed
beforeAll(async () => {
  desk = await RecordingTestbed.open()
})
afterAll(() => desk.close())
afterEach(() => desk.clear())

describe('a request to record', () => {
  it('is refused with 409 while another one starts, whatever else is wrong with it', async () => {
    const { id } = await desk.busy()
    const { promise: untilToldTo, resolve: goOn } = Promise.withResolvers<void>()
    desk.node.onStart = () => untilToldTo
    const first = desk.start(id)
    await until('it is starting', async () => (await desk.get(id)).status === 'starting')
    const others = [{}, { name: 'a/b' }, { frameRate: 500 }, { recordingLayout: 'CUSTOM', customLayout: 'none' }]
    const answers = await Promise.all(others.map((body) => desk.start(id, body)))
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409])
    goOn()
    expect((await first).status).toBe(200)
    await desk.stop(id)
    await desk.becomes(id, 'ready')
  })

  it('that makes use of a layout of its session that cannot be had is a 400, and leaves no trace', async () => {
    const layout = { recordingLayout: 'CUSTOM', customLayout: 'https://not.allowed.example/' }
    const { id } = await desk.busy({ defaultRecordingProperties: { outputMode: 'INDIVIDUAL', ...layout } })
    const { status, body } = await desk.start(id, { outputMode: 'COMPOSED' })
    expect({ status, body }).toMatchObject({ status: 400, body: { message: expect.stringContaining('customLayout') } })
    expect((await desk.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    await desk.start(id)
    await desk.stop(id)
    await desk.toldOf(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
  })

  it('to stop is answered with the file over the deprecated path, in every edition', async () => {
    const { id } = await desk.busy()
    await desk.start(id)
    const { status, body } = await desk.stack.api.transport.send({
      method: 'POST',
      path: `/api/recordings/stop/${id}`,
    })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'stopped', url: expect.stringContaining(id) },
    })
  })
})
