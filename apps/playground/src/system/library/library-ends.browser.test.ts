import { until } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import { useLibrary } from '../../fixtures/library.js'

/** The open resources of a page, by kind. */
interface Left {
  opened: number
  peers: number
  sockets: number
  tracks: number
  elements: number
}

describe('the client library', () => {
  const library = useLibrary()

  it('stops the tracks that it opened and removes the element that it created', async () => {
    await library.publish({ audio: true })
    await library.watch()
    expect(await library.receiver.locator('video').count()).toBe(1)
    const states = await library.sender.evaluate(async () => {
      const [publisher] = window.bench.session.publishers.values()
      const tracks = publisher?.mediaStream.getTracks() ?? []
      await publisher?.unpublish()
      return tracks.map(({ readyState }) => readyState)
    })
    expect(states).toEqual(['ended', 'ended'])
    await library.receiver.locator('video').waitFor({ state: 'detached' })
    const log = await library.receiver.evaluate(() => window.bench.log)
    expect(log.filter((entry) => entry === 'videoElementDestroyed' || entry === 'streamDestroyed')).toEqual([
      'streamDestroyed',
      'videoElementDestroyed',
    ])
  })

  it('forgets elements that the application detaches, removes from the page or uses for another stream', async () => {
    await library.publish({ audio: true })
    await library.watch()
    const seen = await library.receiver.evaluate(async () => {
      const [subscriber] = window.bench.session.subscribers.values()
      const [created] = subscriber?.videos ?? []
      if (!subscriber || !created) throw new Error('no element')
      /** Attaches a new element, and resolves when it plays. */
      const attach = async (isShown: boolean): Promise<HTMLVideoElement> => {
        const element = document.createElement('video')
        if (isShown) document.body.append(element)
        const plays = new Promise((resolve) => element.addEventListener('playing', resolve, { once: true }))
        subscriber.attach(element)
        await plays
        return element
      }
      const [shown, offPage, removed, used, detached] = await Promise.all([true, false, true, true, true].map(attach))
      if (!shown || !offPage || !removed || !used || !detached) throw new Error('no element')
      const paused = new Promise((resolve) => removed.addEventListener('pause', resolve, { once: true }))
      removed.remove()
      await paused
      const other = new MediaStream()
      used.srcObject = other
      subscriber.detach(detached)
      await subscriber.unmute()
      const all = [created, shown, offPage, removed, used, detached]
      const videos = subscriber.videos.map((each) => all.indexOf(each))
      subscriber.detach(created)
      const left = { videos, isRemovedPaused: removed.paused, isDetachedEmpty: detached.srcObject === null }
      await window.bench.session.unsubscribe(subscriber)
      const after = { isUsedKept: used.srcObject === other, isShownEmpty: shown.srcObject === null }
      return { ...left, ...after, isCreatedThere: created.isConnected }
    })
    expect(seen).toEqual({
      videos: [0, 1, 2],
      isRemovedPaused: true,
      isDetachedEmpty: true,
      isUsedKept: true,
      isShownEmpty: true,
      isCreatedThere: false,
    })
    expect(await library.receiver.evaluate(() => window.bench.log)).toContain('videoElementDestroyed')
  })

  it('leaves an element of the application as it was before the own camera, and adds none after the end', async () => {
    const seen = await library.sender.evaluate(async () => {
      const { client, session } = window.bench
      const publisher = await client.createPublisher({ audio: false })
      let playing = 0
      publisher.on('streamPlaying', () => playing++)
      const element = document.createElement('video')
      element.style.transform = 'rotate(10deg)'
      document.body.append(element)
      // An effect of a page may run twice.
      publisher.attach(element)
      publisher.attach(element)
      const plays = new Promise((resolve) => publisher.once('streamPlaying', resolve))
      const attached = { videos: publisher.videos.length, transform: element.style.transform }
      await plays
      await new Promise((resolve) => element.requestVideoFrameCallback(resolve))
      publisher.detach(element)
      const detached = { videos: publisher.videos.length, transform: element.style.transform, playing }
      await session.publish(publisher, document.body)
      const failing = session.publish(publisher, document.body).catch((error: unknown) => String(error))
      // A preview that the application opens meanwhile is its own.
      publisher.attach(element)
      const again = await failing
      const published = document.querySelectorAll('video').length
      const previewed = publisher.videos.includes(element)
      await publisher.unpublish()
      publisher.attach(document.body)
      const ended = document.querySelectorAll('video').length
      return { attached, detached, again, published, previewed, ended }
    })
    expect(seen).toEqual({
      attached: { videos: 1, transform: 'scaleX(-1)' },
      detached: { videos: 0, transform: 'rotate(10deg)', playing: 1 },
      again: 'ServiceError: publish: the publisher is already published',
      // The track of the application, and the one of the first call.
      published: 2,
      previewed: true,
      ended: 1,
    })
  })

  it('publishes again after unpublishing, and several streams at once, over the same transport', async () => {
    await library.publish({ audio: false })
    await library.sender.evaluate(() => [...window.bench.session.publishers.values()][0]?.unpublish())
    const ids = await library.sender.evaluate(async () => {
      const publishers = await Promise.all(
        [1, 2, 3].map(() => window.bench.session.publish({ audio: true, resolution: '320x240' })),
      )
      return publishers.map(({ stream }) => stream?.streamId)
    })
    expect(new Set(ids).size).toBe(3)
    const count = () => library.receiver.evaluate(() => window.bench.session.streams.size)
    await until('three streams', async () => (await count()) === 3)
    const decoded = await library.receiver.evaluate(async () => {
      const { session } = window.bench
      const playing = [...session.streams.values()].map(async (stream) => {
        const subscriber = await session.subscribe(stream)
        const plays = new Promise((resolve) => subscriber.once('streamPlaying', resolve))
        subscriber.attach(document.body)
        return plays
      })
      return (await Promise.all(playing)).length
    })
    expect(decoded).toBe(3)
  })

  it('leaves nothing open after thirty participations in one page', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 30 }, async () => (await library.stack.api.createConnection(library.sessionId)).token),
    )
    await library.sender.evaluate(async (all) => {
      const { Session } = window.bench.client
      const opened: (RTCPeerConnection | WebSocket)[] = []
      const [Peer, Socket] = [window.RTCPeerConnection, window.WebSocket]
      window.RTCPeerConnection = class extends Peer {
        constructor(...given: ConstructorParameters<typeof Peer>) {
          super(...given)
          opened.push(this)
        }
      }
      window.WebSocket = class extends Socket {
        constructor(...given: ConstructorParameters<typeof Socket>) {
          super(...given)
          opened.push(this)
        }
      }
      const tracks: MediaStreamTrack[] = []
      for (const token of all) {
        const session = new Session()
        await session.connect(token ?? '')
        const publisher = await session.publish({ resolution: '320x240' }, document.body)
        tracks.push(...publisher.mediaStream.getTracks())
        await session.disconnect()
      }
      const left = (): Left => ({
        opened: opened.length,
        peers: opened.filter((one) => one instanceof Peer && one.connectionState !== 'closed').length,
        sockets: opened.filter((one) => one instanceof Socket && one.readyState !== 3).length,
        tracks: tracks.filter(({ readyState }) => readyState === 'live').length,
        elements: document.querySelectorAll('video').length,
      })
      Object.assign(window, { left })
    }, tokens)
    await until('all resources are closed', async () => {
      const left = await library.sender.evaluate(() => (window as unknown as { left(): Left }).left())
      // Two peer connections and a socket for each participation.
      expect(left).toEqual({ opened: 90, peers: 0, sockets: 0, tracks: 0, elements: 0 })
      return true
    })
    await until(
      'only the two participants are left',
      async () => (await library.stack.api.getSession(library.sessionId)).connections.numberOfElements === 2,
    )
  })

  it('closes its resources when the server refuses a publication, and continues', async () => {
    const outcome = await library.sender.evaluate(async () => {
      const { session, client } = window.bench
      const audio = new AudioContext()
      const sound = (): MediaStreamTrack => {
        const [track] = audio.createMediaStreamDestination().stream.getAudioTracks()
        if (!track) throw new Error('no track')
        return track
      }
      // The size exceeds the limit of a connection.
      const tries = await Promise.allSettled(
        Array.from({ length: 33 }, () => session.publish({ audio: sound(), video: false })),
      )
      const refused = tries.filter((one) => one.status === 'rejected').map(({ reason }: { reason: unknown }) => reason)
      const [first] = session.publishers.values()
      await first?.unpublish()
      const again = await session.publish({ audio: sound(), video: false })
      return {
        refused: refused.map((error) => error instanceof client.ServiceError && error.code),
        publishers: session.publishers.size,
        streams: session.streams.size,
        again: again.published,
      }
    })
    expect(outcome).toEqual({ refused: ['LIMIT_REACHED'], publishers: 32, streams: 32, again: true })
    const { connections } = await library.stack.api.getSession(library.sessionId)
    expect(connections.content.map(({ publishers }) => publishers?.length).toSorted()).toEqual([0, 32])
  })

  it('rejects invalid calls with an explanation before it sends a request', async () => {
    const errors = await library.sender.evaluate(async () => {
      const { client, session } = window.bench
      const fresh = new client.Session()
      const token = 'ws://localhost/service/signalling?sessionId=a&token=tok_a'
      const errorOf = (promise: Promise<unknown> | undefined): Promise<string> =>
        (promise ?? Promise.resolve()).then(
          () => 'no error',
          (error: unknown) => String(error),
        )
      return [
        await errorOf(new client.Session().connect('tok_abc')),
        await errorOf(fresh.connect(token, { clientData: window })),
        fresh.state,
        await errorOf(session.connect('again')),
        await errorOf(session.publish({ audio: false, video: false })),
        await errorOf(session.publish({ audio: true, resolution: 'big' })),
        await errorOf(session.signal({ data: 'x', to: ['no such id!'] })),
        await errorOf(session.forceDisconnect('con_x')),
        await errorOf(new client.Session().publish()),
      ]
    })
    expect(errors).toEqual([
      'ServiceError: token: is not a URL; pass the whole "token" of a connection, not only its tok_… part',
      expect.stringMatching(/^(TypeError|SecurityError)/),
      'new',
      'ServiceError: connect: this session is already connected',
      'TypeError: audio, video, screen: the options leave nothing to publish',
      'TypeError: resolution: "big" is not of the form 640x480',
      expect.stringMatching(/^ServiceError: signal: to\.0: may hold only/),
      'ServiceError: forceDisconnect: the role PUBLISHER does not permit it',
      'ServiceError: publish: the session is not connected',
    ])
  })
})
