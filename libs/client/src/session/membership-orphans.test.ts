import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LoneMember } from '../fixtures/lone-member.js'
import { until } from '../fixtures/manual-clock.js'
import { streamInfo } from '../fixtures/samples.js'

describe('a publication whose answer did not come before the socket went', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join()
  })
  afterEach(() => lone.stop())
  const unpublished = () => lone.server.calls('unpublish').map(({ params }) => params['streamId'])
  /** The server has `streamId`, but says so only in its next snapshot. */
  const publishUnanswered = async (streamId: string) => {
    lone.server.answer('publish', () => 'silence')
    const publishing = lone.publish()
    await until('it is asked for', () => lone.server.calls('publish').length === 1)
    lone.answers()
    lone.snapshot = { ...lone.snapshot, streams: [...lone.snapshot.streams, streamInfo(streamId, 'con_own')] }
    return publishing
  }
  const lose = async (streamId: string): Promise<void> => {
    const failed = expect(publishUnanswered(streamId)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await until('the server has it', () => lone.snapshot.streams.some((stream) => stream.streamId === streamId))
    lone.server.last.terminate()
    await failed
  }

  it('is taken back', async () => {
    await lose('str_ghost')
    await lone.hears('reconnected')
    await until('unpublished', () => unpublished().length > 0)
    expect(unpublished()).toEqual(['str_ghost'])
  })

  it('is taken back also when another is being published by then', async () => {
    await lose('str_ghost')
    const publisher = await Promise.all([lone.publish(), lone.hears('reconnected')]).then(([made]) => made)
    await until('unpublished', () => unpublished().length > 0)
    expect(unpublished()).toEqual(['str_ghost'])
    expect(publisher.published).toBe(true)
  })

  it('stays when its answer comes on the old socket after all', async () => {
    const publishing = publishUnanswered('str_late')
    await until('the server has it', () => lone.snapshot.streams.length === 2)
    const [call] = lone.server.calls('publish')
    lone.server.notify('reconnect', { afterMs: 0 })
    await lone.passUntil('moved', () => lone.server.calls('resume').length === 1)
    await lone.member.call('ping', {})
    lone.server.send(
      { jsonrpc: '2.0', id: call?.id, result: { streamId: 'str_late', createdAt: 3 } },
      lone.server.sockets[0],
    )
    expect((await publishing).stream?.streamId).toBe('str_late')
    await lone.member.call('ping', {})
    expect(unpublished()).toEqual([])
  })
})
