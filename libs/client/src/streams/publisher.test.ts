import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { deferred } from '../platform/deferred.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { StubTrack, stubTrack } from '../fixtures/stub-engine.js'
import type { Publisher } from './publisher.js'

describe('a publisher that switches to another camera', () => {
  let testbed: ParticipantTestbed
  let publisher: Publisher
  /** The track of the camera that the library opens. */
  let track: MediaStreamTrack
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
    publisher = await testbed.publish()
    track = stubTrack('video')
    const mediaDevices = { getUserMedia: async () => ({ getTracks: () => [track] }) }
    Object.defineProperty(navigator, 'mediaDevices', { value: mediaDevices, configurable: true })
  })
  afterEach(async () => {
    Reflect.deleteProperty(navigator, 'mediaDevices')
    await testbed.stop()
  })

  it('sends the new camera, and stops it at the end', async () => {
    await publisher.useDevice('video', 'cam2')
    expect(publisher.mediaStream.getTracks()).toContain(track)
    expect(track.readyState).toBe('live')
    await publisher.unpublish()
    expect(track.readyState).toBe('ended')
  })

  it('mutes the new camera before the server has answered', async () => {
    testbed.server.answer('changeStream', () => 'silence')
    track = Object.assign(new StubTrack('video'), { width: 320, height: 240 }) as unknown as MediaStreamTrack
    const switched = publisher.useDevice('video', 'cam2').catch(() => {})
    await until('the request', () => testbed.server.calls('changeStream').length > 0)
    expect(publisher.mediaStream.getTracks()).toContain(track)
    const muted = publisher.publishVideo(false).catch(() => {})
    expect(track.enabled).toBe(false)
    testbed.participant.end('disconnect')
    await Promise.all([switched, muted])
  })

  it('stops the new camera when the publisher ends during the switch', async () => {
    const replaced = deferred<void>()
    const [engine] = testbed.engines
    if (!engine) throw new Error('the testbed has no engine')
    engine.replaced = replaced.promise
    const refused = expect(publisher.useDevice('video', 'cam2')).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the change', () => engine.replacing > 0)
    await publisher.unpublish()
    replaced.resolve()
    await refused
    expect(track.readyState).toBe('ended')
    expect(publisher.mediaStream.getTracks()).not.toContain(track)
  })
})
