import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { RecordingTestbed } from '../fixtures/recording-testbed.js'

let testbed: RecordingTestbed
beforeAll(async () => {
  testbed = await RecordingTestbed.open()
})
afterAll(() => testbed.close())
afterEach(() => testbed.reset())

describe('the REST interface of recordings', () => {
  it('answers a start with 409 while the recording of the session is starting, also to invalid requests', async () => {
    const { id } = await testbed.createActiveSession()
    const { promise: started, resolve: finishStart } = Promise.withResolvers<void>()
    testbed.node.onStart = () => started
    const first = testbed.start(id)
    await until('the recording is starting', async () => (await testbed.get(id)).status === 'starting')
    const others = [{}, { name: 'a/b' }, { frameRate: 500 }, { recordingLayout: 'CUSTOM', customLayout: 'none' }]
    const answers = await Promise.all(others.map((body) => testbed.start(id, body)))
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409])
    finishStart()
    expect((await first).status).toBe(200)
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
  })

  it('records with COMPOSED_QUICK_START in a session whose default it is, with all fields of a composed video', async () => {
    const defaultRecordingProperties = { outputMode: 'COMPOSED_QUICK_START', resolution: '640x480', frameRate: 15 }
    const { id } = await testbed.createActiveSession({ defaultRecordingProperties })
    const quick = {
      outputMode: 'COMPOSED_QUICK_START',
      recordingLayout: 'BEST_FIT',
      resolution: '640x480',
      frameRate: 15,
    }
    expect(await testbed.start(id)).toMatchObject({ status: 200, body: { ...quick, status: 'started' } })
    expect((await testbed.stop(id)).status).toBe(200)
    await testbed.becomes(id, 'ready')
    expect(await testbed.get(id)).toMatchObject({ ...quick, url: expect.stringMatching(/\.mp4$/) })
    await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
    expect(testbed.events(id).map(({ outputMode }) => outputMode)).toEqual(Array(3).fill('COMPOSED_QUICK_START'))
  })

  it('answers a start with 400 that uses a missing custom layout of the session, and leaves no recording', async () => {
    const layout = { recordingLayout: 'CUSTOM', customLayout: 'https://not.allowed.example/' }
    const { id } = await testbed.createActiveSession({
      defaultRecordingProperties: { outputMode: 'INDIVIDUAL', ...layout },
    })
    const { status, body } = await testbed.start(id, { outputMode: 'COMPOSED' })
    expect({ status, body }).toMatchObject({ status: 400, body: { message: expect.stringContaining('customLayout') } })
    expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    await testbed.start(id)
    await testbed.stop(id)
    await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
  })

  it('answers a stop under the deprecated path with the file in every edition', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const { status, body } = await testbed.stack.api.transport.send({
      method: 'POST',
      path: `/api/recordings/stop/${id}`,
    })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'stopped', url: expect.stringContaining(id) },
    })
  })
})
