import { ServiceError } from '@session-service/contract'
import { type Stack, startStack } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { FakeMediaNode, SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'

let stack: Stack
let node: FakeMediaNode

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 1, masterEnv: { SERVICE_STREAMS_ALLOW_TRANSCODING: 'true' } })
  node = await FakeMediaNode.start(stack.nats.url, 'fake')
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

it.each<[string, object, object]>([
  ['the default of the property', {}, { videoCodec: 'VP8', allowTranscoding: true }],
  ['false', { allowTranscoding: false }, { videoCodec: 'VP8', allowTranscoding: false }],
  ['another codec', { forcedVideoCodec: 'H264' }, { videoCodec: 'H264', allowTranscoding: true }],
])('the media node of a session knows whether it transcodes: %s', async (_, body, expected) => {
  const { id } = await stack.api.createSession(body)
  const client = await stack.join(id)
  expect(node.callsOf('join').at(-1)).toMatchObject({ sessionId: id, ...expected })
  await client.request('leave', {})
})

it('a client whose codec the media node refuses gets error 800 with the reason', async () => {
  const { id } = await stack.api.createSession({ allowTranscoding: false })
  const client = await stack.join(id)
  const reason = 'tracks: the session allows video/VP8 and not video/H264: it does not allow transcoding'
  node.onCommand = (command) => {
    if (command === 'publish') throw new ServiceError('CODEC_REFUSED', reason)
  }
  await expect(client.request('publish', { tracks: [SILENT_TRACK] })).rejects.toMatchObject({
    ...{ code: 'CODEC_REFUSED', rpcCode: 800 },
    message: expect.stringContaining(reason),
  })
  node.onCommand = () => undefined
  await client.request('publish', { tracks: [SILENT_TRACK] })
})
