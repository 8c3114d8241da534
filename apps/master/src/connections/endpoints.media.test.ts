import type { ConnectionView, SessionView } from '@session-service/contract'
import { startStack, SyntheticParticipant, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack

beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.stop())

const connectionsOf = ({ connections }: SessionView, id: string): ConnectionView | undefined =>
  connections.content.find((connection) => connection.id === id)
const read = async <T>(path: string): Promise<T> => (await stack.rest('GET', path)).body as T

const NEVER = { clientIceCandidates: null, localSdp: null, remoteSdp: null, events: null }
const CANDIDATE = /^candidate:\S+ 1 udp \d+ 127\.0\.0\.1 \d+ typ (host|prflx)$/
const CONNECTED = {
  ...NEVER,
  webrtcEndpointName: expect.stringMatching(/^[\w-]{36}$/),
  localCandidate: expect.stringMatching(CANDIDATE),
  remoteCandidate: expect.stringMatching(CANDIDATE),
  serverIceCandidates: expect.arrayContaining([expect.stringMatching(CANDIDATE)]),
}
const UNKNOWN = {
  ...NEVER,
  webrtcEndpointName: null,
  localCandidate: null,
  remoteCandidate: null,
  serverIceCandidates: null,
}

describe('webRtcStats=true', () => {
  it('adds the transports of publishers and subscribers, which are null when the media node does not answer', async () => {
    const { id } = await stack.api.createSession()
    const join = async (): Promise<SyntheticParticipant> =>
      SyntheticParticipant.join((await stack.api.createConnection(id)).token ?? '')
    const [publisher, watcher] = [await join(), await join()]
    const { streamId } = await publisher.publish({ audio: true, video: true })
    const watched = await watcher.subscribe(streamId)
    await until('media flows', () => (watched.stats().video?.packets ?? 0) > 0)
    const session = await read<SessionView>(`/sessions/${id}?webRtcStats=true`)
    expect(connectionsOf(session, publisher.connectionId)?.publishers).toEqual([
      expect.objectContaining({ streamId, mediaOptions: expect.anything(), ...CONNECTED }),
    ])
    expect(connectionsOf(session, watcher.connectionId)?.subscribers).toEqual([
      expect.objectContaining({ streamId, publisher: publisher.connectionId, ...CONNECTED }),
    ])
    const { content } = await read<{ content: SessionView[] }>('/sessions?webRtcStats=true')
    expect(content).toEqual([session])
    const plain = await read<SessionView>(`/sessions/${id}?webRtcStats=false`)
    expect(Object.keys(connectionsOf(plain, publisher.connectionId)?.publishers?.[0] ?? {}).toSorted()).toEqual([
      'createdAt',
      'mediaOptions',
      'streamId',
    ])
    const [node] = stack.nodes
    node?.kill('SIGSTOP')
    try {
      const unanswered = await read<SessionView>(`/sessions/${id}?webRtcStats=true`)
      expect(connectionsOf(unanswered, publisher.connectionId)?.publishers?.[0]).toMatchObject(UNKNOWN)
    } finally {
      node?.kill('SIGCONT')
    }
    await Promise.all([publisher, watcher].map((each) => each.close()))
  })
})
