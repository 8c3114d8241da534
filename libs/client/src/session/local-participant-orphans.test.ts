import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { streamInfo } from '../fixtures/samples.js'

describe('a publication whose answer was lost with the socket', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())
  const unpublished = () => testbed.server.calls('unpublish').map(({ params }) => params['streamId'])
  /** The server created `streamId`, but reports it only in its next snapshot. */
  const publishUnanswered = async (streamId: string) => {
    testbed.server.answer('publish', () => 'silence')
    const publishing = testbed.publish()
    await until('the publish request', () => testbed.server.calls('publish').length === 1)
    testbed.answerAll()
    testbed.snapshot = { ...testbed.snapshot, streams: [...testbed.snapshot.streams, streamInfo(streamId, 'con_own')] }
    return publishing
  }
  const lose = async (streamId: string): Promise<void> => {
    const failed = expect(publishUnanswered(streamId)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await until('the server has the stream', () =>
      testbed.snapshot.streams.some((stream) => stream.streamId === streamId),
    )
    testbed.server.last.terminate()
    await failed
  }

  it('is unpublished', async () => {
    await lose('str_ghost')
    await testbed.waitForEvent('reconnected')
    await until('unpublished', () => unpublished().length > 0)
    expect(unpublished()).toEqual(['str_ghost'])
  })

  it('is unpublished also while another publication is pending', async () => {
    await lose('str_ghost')
    const publisher = await Promise.all([testbed.publish(), testbed.waitForEvent('reconnected')]).then(([made]) => made)
    await until('unpublished', () => unpublished().length > 0)
    expect(unpublished()).toEqual(['str_ghost'])
    expect(publisher.published).toBe(true)
  })

  it('is unpublished when only a later snapshot contains it', async () => {
    testbed.server.notify('snapshot', { ...testbed.snapshot, streams: [streamInfo('str_ghost', 'con_own')] })
    await until('unpublished', () => unpublished().length > 0)
    expect(unpublished()).toEqual(['str_ghost'])
  })

  it('stays when its answer still arrives on the old socket', async () => {
    const publishing = publishUnanswered('str_late')
    await until('the server has the stream', () => testbed.snapshot.streams.length === 2)
    const [call] = testbed.server.calls('publish')
    testbed.server.notify('reconnect', { afterMs: 0 })
    await testbed.passUntil('moved', () => testbed.server.calls('resume').length === 1)
    await testbed.handled()
    testbed.server.send(
      { jsonrpc: '2.0', id: call?.id, result: { streamId: 'str_late', createdAt: 3 } },
      testbed.server.sockets[0],
    )
    expect((await publishing).stream?.streamId).toBe('str_late')
    await testbed.handled()
    expect(unpublished()).toEqual([])
  })
})
