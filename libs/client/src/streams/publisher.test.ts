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

describe('a publisher whose device ends', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  /** The browser ends the track: its device was unplugged, or the user stopped sharing. */
  const end = (publisher: Publisher, kind: 'audio' | 'video'): void => {
    const track = publisher.mediaStream.getTracks().find((each) => each.kind === kind)
    track?.stop()
    track?.dispatchEvent(new Event('ended'))
  }
  /** The reported states, oldest first. */
  const reported = (): unknown[] =>
    testbed.server.calls('changeStream').flatMap(({ params: { audioActive, videoActive, reason } }) => {
      const isState = audioActive !== undefined || videoActive !== undefined
      return isState ? [{ audioActive, videoActive, reason }] : []
    })
  const videoOff = { videoActive: false, reason: 'publishVideo' }
  const videoOn = { videoActive: true, reason: 'publishVideo' }

  it('reports its video as inactive until it has another track', async () => {
    const publisher = await testbed.publish()
    end(publisher, 'video')
    await until('the change', () => publisher.stream?.videoActive === false)
    expect(publisher.videoActive).toBe(true)
    await publisher.replaceTrack(stubTrack('video'))
    expect(publisher.stream?.videoActive).toBe(true)
    expect(reported()).toEqual([videoOff, videoOn])
  })

  it('keeps its video inactive when the user mutes it before it has another track', async () => {
    const publisher = await testbed.publish()
    end(publisher, 'video')
    await publisher.publishVideo(false)
    await publisher.replaceTrack(stubTrack('video'))
    expect(publisher.stream?.videoActive).toBe(false)
    expect(reported()).toEqual([videoOff, videoOff])
    await publisher.publishVideo(true)
    expect(reported().at(-1)).toEqual(videoOn)
  })

  it('reports the audio of an unplugged microphone as inactive, also when the user unmutes it', async () => {
    const publisher = await testbed.publish({ publishAudio: false })
    end(publisher, 'audio')
    await publisher.publishAudio(true)
    expect(reported()).toEqual([{ audioActive: false, reason: 'publishAudio' }])
  })

  it('reports a device that ends during the request', async () => {
    const publisher = testbed.publisher()
    testbed.server.answer('publish', () => {
      end(publisher, 'video')
      return { result: { streamId: 'str_own1', createdAt: 3 } }
    })
    await testbed.participant.publish(publisher)
    await until('the change', () => publisher.stream?.videoActive === false)
    expect(testbed.server.calls('publish')).toMatchObject([{ params: { videoActive: true } }])
    expect(reported()).toEqual([videoOff])
  })

  it('publishes a blank track as inactive after a loss of the media', async () => {
    const canvas = { getContext: () => null, captureStream: () => ({ getVideoTracks: () => [stubTrack('video')] }) }
    Object.assign(globalThis, { document: { createElement: () => canvas } })
    try {
      const publisher = await testbed.publish()
      end(publisher, 'video')
      await until('the change', () => publisher.stream?.videoActive === false)
      testbed.notifyMediaLoss()
      await testbed.waitForEvent('reconnected')
      const again = { streamId: 'str_own1', audioActive: true, videoActive: false }
      expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: again }])
      await publisher.replaceTrack(stubTrack('video'))
      expect(reported()).toEqual([videoOff, videoOn])
    } finally {
      Reflect.deleteProperty(globalThis, 'document')
    }
  })

  it('unpublishes a screen that is no longer shared', async () => {
    const publisher = await testbed.publish({ screen: true })
    end(publisher, 'video')
    await until('the end', () => testbed.server.calls('unpublish').length === 1)
    expect(publisher.published).toBe(false)
    expect(reported()).toEqual([])
  })
})
