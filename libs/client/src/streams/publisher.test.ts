import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { deferred } from '../platform/deferred.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { refused } from '../fixtures/fake-signalling-server.js'
import { until } from '../fixtures/manual-clock.js'
import { StubTrack, stubTrack } from '../fixtures/stub-engine.js'
import { Publisher } from './publisher.js'

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
    const rejected = expect(publisher.useDevice('video', 'cam2')).rejects.toMatchObject({ code: 'CONFLICT' })
    await until('the change', () => engine.replacing > 0)
    await publisher.unpublish()
    replaced.resolve()
    await rejected
    expect(track.readyState).toBe('ended')
    expect(publisher.mediaStream.getTracks()).not.toContain(track)
  })
})

describe('a publisher on a phone that opens one camera at a time', () => {
  let testbed: ParticipantTestbed
  let publisher: Publisher
  /** The tracks that were opened, by the id of their camera. */
  let opened: Map<string, StubTrack>
  /** The requested cameras, oldest first. */
  let requested: string[] = []
  /** The ids of cameras that cannot be opened. */
  let broken: Set<string>
  let onRequest: () => void

  class Camera extends StubTrack {
    constructor(readonly deviceId: string) {
      super('video')
    }
    override getSettings(): MediaTrackSettings {
      return { ...super.getSettings(), deviceId: this.deviceId }
    }
  }
  const busy = (): Error => Object.assign(new Error('Could not start video source'), { name: 'NotReadableError' })
  const open = async (deviceId: string): Promise<MediaStreamTrack> => {
    requested.push(deviceId)
    onRequest()
    // The browser asks the device.
    await new Promise((resolve) => setImmediate(resolve))
    const isUsed = [...opened.values()].some(({ readyState }) => readyState === 'live')
    if (isUsed || broken.has(deviceId)) throw busy()
    const track = new Camera(deviceId)
    opened.set(deviceId, track)
    return track as unknown as MediaStreamTrack
  }
  const create = async (isOpened = true): Promise<void> => {
    publisher = new Publisher([{ track: await open('front'), opened: isOpened }], {}, testbed.clock)
    requested = []
  }
  const publish = async (isOpened = true): Promise<void> => {
    await create(isOpened)
    await testbed.participant.publish(publisher)
  }
  const shown = (): unknown => publisher.mediaStream.getTracks()
  const live = (): string[] => [...opened].filter(([, { readyState }]) => readyState === 'live').map(([id]) => id)

  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
    opened = new Map()
    broken = new Set()
    onRequest = () => {}
    const getUserMedia = async ({ video }: { video: { deviceId: { exact: string } } }) => {
      const track = await open(video.deviceId.exact)
      return { getTracks: () => [track] }
    }
    Object.defineProperty(navigator, 'mediaDevices', { value: { getUserMedia }, configurable: true })
  })
  afterEach(async () => {
    Reflect.deleteProperty(navigator, 'mediaDevices')
    await testbed.stop()
  })

  it('stops the former camera before it opens another one', async () => {
    await publish()
    await publisher.useDevice('video', 'rear')
    expect(requested).toEqual(['rear', 'rear'])
    expect(live()).toEqual(['rear'])
    expect(shown()).toEqual([opened.get('rear')])
    expect(publisher.stream?.videoActive).toBe(true)
  })

  it('opens the former camera again when the other one cannot be opened either', async () => {
    await publish()
    broken.add('rear')
    await expect(publisher.useDevice('video', 'rear')).rejects.toMatchObject({ code: 'DEVICE_IN_USE' })
    expect(requested).toEqual(['rear', 'rear', 'front'])
    expect(shown()).toEqual([opened.get('front')])
    expect(live()).toEqual(['front'])
  })

  it('reports that its camera has ended when no camera can be opened', async () => {
    await publish()
    const ended: string[] = []
    publisher.on('trackEnded', ({ kind }) => ended.push(kind))
    for (const each of ['front', 'rear']) broken.add(each)
    await expect(publisher.useDevice('video', 'rear')).rejects.toMatchObject({ code: 'DEVICE_IN_USE' })
    expect(ended).toEqual(['video'])
    await until('the change', () => publisher.stream?.videoActive === false)
    broken.clear()
    await publisher.useDevice('video', 'rear')
    expect(publisher.stream?.videoActive).toBe(true)
  })

  it('does not stop a track of the application', async () => {
    await publish(false)
    await expect(publisher.useDevice('video', 'rear')).rejects.toMatchObject({ code: 'DEVICE_IN_USE' })
    expect(requested).toEqual(['rear'])
    expect(live()).toEqual(['front'])
  })

  it('uses the last of several selections', async () => {
    await publish()
    await Promise.all(['rear', 'wide'].map((each) => publisher.useDevice('video', each)))
    expect(shown()).toEqual([opened.get('wide')])
    expect(live()).toEqual(['wide'])
  })

  it('publishes the other camera when it is published during the switch', async () => {
    await create()
    let published: Promise<unknown> | undefined
    onRequest = () => {
      if (requested.length === 2) published = testbed.participant.publish(publisher)
    }
    await publisher.useDevice('video', 'rear')
    await published
    expect(testbed.engines[0]?.offered.flat().map(({ track }) => track)).toEqual([opened.get('rear')])
    expect(shown()).toEqual([opened.get('rear')])
    expect(live()).toEqual(['rear'])
  })

  it('keeps its camera when the application selects another one while it is being published', async () => {
    await create()
    testbed.server.answer('publish', () => 'silence')
    const published = testbed.participant.publish(publisher).catch(() => {})
    await until('the request', () => testbed.server.calls('publish').length > 0)
    await expect(publisher.useDevice('video', 'rear')).rejects.toMatchObject({ code: 'DEVICE_IN_USE' })
    expect(live()).toEqual(['front'])
    testbed.participant.end('disconnect')
    await published
  })

  it('leaves no camera open when it ends during the switch', async () => {
    await publish()
    onRequest = () => requested.length === 2 && publisher.close()
    await expect(publisher.useDevice('video', 'rear')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(requested).toEqual(['rear', 'rear'])
    expect(live()).toEqual([])
  })
})

describe('a publisher whose muting the server refuses', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())
  const refuse = (): void =>
    testbed.server.answer('changeStream', () => ({ error: new ServiceError('RATE_LIMITED', 'try again later') }))

  it('stays muted, and sends a repeated call', async () => {
    const publisher = await testbed.publish()
    refuse()
    await expect(publisher.publishAudio(false)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    expect([publisher.audioActive, publisher.stream?.audioActive]).toEqual([false, true])
    testbed.answerAll()
    await publisher.publishAudio(false)
    expect(publisher.stream?.audioActive).toBe(false)
    await publisher.publishAudio(false)
    expect(testbed.server.calls('changeStream')).toHaveLength(2)
  })

  it('stays muted when it is unmuted twice at once', async () => {
    const publisher = await testbed.publish({ publishAudio: false })
    refuse()
    await Promise.allSettled([publisher.publishAudio(true), publisher.publishAudio(true)])
    expect([publisher.audioActive, publisher.stream?.audioActive]).toEqual([false, false])
  })

  it('sends a muting after an unmuting that failed, because the server may have executed it', async () => {
    const publisher = await testbed.publish({ publishAudio: false })
    refuse()
    await expect(publisher.publishAudio(true)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    testbed.answerAll()
    await publisher.publishAudio(false)
    await publisher.publishAudio(false)
    const sent = testbed.server.calls('changeStream').map(({ params }) => params.audioActive)
    expect(sent).toEqual([true, false])
  })

  it('reports that it is still muted after an unmuting that failed', async () => {
    const publisher = await testbed.publish({ publishAudio: false })
    refuse()
    await expect(publisher.publishAudio(true)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    testbed.answerAll()
    const sent = () => testbed.server.calls('changeStream').map(({ params }) => params.audioActive)
    await testbed.passUntil('the report', () => sent().length > 1)
    expect(sent()).toEqual([true, false])
  })
})

describe('a publisher whose track is replaced by', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('the same track keeps it, and stops it at the end when the library opened it', async () => {
    const track = stubTrack('video')
    const publisher = new Publisher([{ track, opened: true }], {}, testbed.clock)
    await publisher.replaceTrack(track)
    expect([publisher.mediaStream.getTracks(), track.readyState]).toEqual([[track], 'live'])
    publisher.close()
    expect(track.readyState).toBe('ended')
  })

  it('an ended track keeps the former one and rejects with INVALID', async () => {
    const publisher = await testbed.publish()
    const before = publisher.mediaStream.getTracks()
    const ended = stubTrack('video')
    ended.stop()
    await expect(publisher.replaceTrack(ended)).rejects.toMatchObject({ code: 'INVALID' })
    expect(publisher.mediaStream.getTracks()).toEqual(before)
    expect(testbed.engines[0]?.replacing).toBe(0)
  })
})

it('a replacement that the browser never finishes ends with its connection', async () => {
  const testbed = await ParticipantTestbed.join()
  const publisher = await testbed.publish()
  const [engine] = testbed.engines
  if (!engine) throw new Error('the testbed has no engine')
  engine.replaced = new Promise(() => {})
  const track = stubTrack('video')
  const replaced = publisher.replaceTrack(track)
  await until('the change', () => engine.replacing > 0)
  testbed.notifyMediaLoss()
  await testbed.waitForEvent('reconnected')
  await replaced
  expect(testbed.engines[1]?.offered.flat().map((sent) => sent.track)).toContain(track)
  await testbed.stop()
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

  it('reports its video as inactive after an outage in which the report failed', async () => {
    const publisher = await testbed.publish()
    let failures = 3
    testbed.server.answer('changeStream', () => (failures-- > 0 ? refused('UNAVAILABLE')() : { result: {} }))
    end(publisher, 'video')
    await testbed.passUntil('the change', () => publisher.stream?.videoActive === false)
    expect(reported()).toEqual([videoOff, videoOff, videoOff, videoOff])
    testbed.clock.pass(60_000)
    await testbed.handled()
    expect(reported()).toHaveLength(4)
  })

  it('stops to report its video when the publication ends during an outage, or the server refuses it', async () => {
    const [publisher, other] = [await testbed.publish(), await testbed.publish()]
    testbed.server.answer('changeStream', ({ params }) =>
      refused(params['streamId'] === other.stream?.streamId ? 'NOT_ALLOWED' : 'UNAVAILABLE')(),
    )
    end(other, 'video')
    await until('the refusal', () => reported().length === 1)
    end(publisher, 'video')
    await testbed.passUntil('a repeated report', () => reported().length === 3)
    await publisher.unpublish()
    const count = reported().length
    testbed.clock.pass(60_000)
    await testbed.handled()
    expect(reported()).toHaveLength(count)
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

  describe('sends a blank track', () => {
    beforeEach(() => {
      const canvas = { getContext: () => null, captureStream: () => ({ getVideoTracks: () => [stubTrack('video')] }) }
      Object.assign(globalThis, { document: { createElement: () => canvas } })
    })
    afterEach(() => void Reflect.deleteProperty(globalThis, 'document'))

    it('as inactive after a loss of the media', async () => {
      const publisher = await testbed.publish()
      end(publisher, 'video')
      await until('the change', () => publisher.stream?.videoActive === false)
      testbed.notifyMediaLoss()
      await testbed.waitForEvent('reconnected')
      const again = { streamId: 'str_own1', audioActive: true, videoActive: false }
      expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: again }])
      await publisher.replaceTrack(stubTrack('video'))
      expect(reported()).toEqual([videoOff, videoOn])
    })

    it('as inactive when the device ended in the preview, until it has another track', async () => {
      const publisher = testbed.publisher()
      end(publisher, 'video')
      await testbed.participant.publish(publisher)
      expect(testbed.server.calls('publish')).toMatchObject([{ params: { audioActive: true, videoActive: false } }])
      await publisher.replaceTrack(stubTrack('video'))
      expect(publisher.stream?.videoActive).toBe(true)
      expect(reported()).toEqual([videoOn])
    })
  })

  it('unpublishes a screen that is no longer shared', async () => {
    const publisher = await testbed.publish({ screen: true })
    end(publisher, 'video')
    await until('the end', () => testbed.server.calls('unpublish').length === 1)
    expect(publisher.published).toBe(false)
    expect(reported()).toEqual([])
  })
})

describe('a publisher whose stream ends before publish is answered', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('ends with the reason of the server, and does not concern the next publication', async () => {
    testbed.server.answer('publish', () => {
      const ended = { streamId: 'str_own1', connectionId: 'con_own', reason: 'forceUnpublishByUser' }
      testbed.server.notify('streamDestroyed', ended)
      return { result: { streamId: 'str_own1', createdAt: 3 } }
    })
    const publisher = await testbed.publish()
    expect(publisher.published).toBe(false)
    expect(testbed.log).toEqual(['own streamDestroyed str_own1 forceUnpublishByUser'])
    expect(testbed.participant.publishers.size).toBe(0)
    expect(testbed.participant.stream('str_own1')).toBeUndefined()
    testbed.answerAll()
    expect((await testbed.publish()).published).toBe(true)
  })
})
