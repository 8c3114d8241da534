import { type Connection, ServiceError, type Session, type Stream } from '@session-service/client'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { CaptionSubscriptions } from './caption-subscriptions.js'

type Listener = (event: { stream?: Stream; connection?: Connection }) => unknown

/** Records the subscriptions of a session. */
class FakeSession {
  readonly streams = new Map<string, Stream>()
  readonly connections = new Map<string, Connection>()
  readonly calls: string[] = []
  refuse: (lang: string, connectionId: string) => boolean = () => false
  onSubscribe: () => void = () => undefined
  readonly #listeners = new Map<string, Listener>()

  on(name: string, listener: Listener): void {
    this.#listeners.set(name, listener)
  }
  emit(name: string, event: Parameters<Listener>[0]): void {
    this.#listeners.get(name)?.(event)
  }
  async subscribeToSpeechToText({ connection }: Stream, lang: string): Promise<void> {
    this.calls.push(`+${connection.connectionId} ${lang}`)
    this.onSubscribe()
    if (this.refuse(lang, connection.connectionId)) throw new ServiceError('NOT_FOUND', 'no such model')
  }
  async unsubscribeFromSpeechToText({ connection }: Stream): Promise<void> {
    this.calls.push(`-${connection.connectionId}`)
  }

  publish(connectionId: string, { local = false, hasAudio = true, streamId = connectionId } = {}): Stream {
    const connection = this.connections.get(connectionId) ?? ({ connectionId, local } as Connection)
    const stream = { streamId, connection, hasAudio } as Stream
    this.connections.set(connectionId, connection)
    this.streams.set(streamId, stream)
    if (!local) this.emit('streamCreated', { stream })
    return stream
  }
  leave(connectionId: string): void {
    const connection = this.connections.get(connectionId)
    this.connections.delete(connectionId)
    for (const [id, stream] of this.streams) if (stream.connection === connection) this.streams.delete(id)
    if (connection) this.emit('connectionDestroyed', { connection })
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve))

describe('CaptionSubscriptions', () => {
  let session: FakeSession
  let failed: string[]
  let captions: CaptionSubscriptions
  const took = (): string[] => session.calls.splice(0)

  beforeEach(() => {
    session = new FakeSession()
    failed = []
    captions = new CaptionSubscriptions(session as unknown as Session, ({ connectionId }) => failed.push(connectionId))
    session.publish('me', { local: true })
    session.publish('ada')
  })

  afterEach(() => void jest.useRealTimers())

  it('subscribe to all participants with sound once, with or without the user', async () => {
    session.publish('ada', { streamId: 'adas screen' })
    session.publish('silent', { hasAudio: false })
    await captions.start({ lang: 'en-US', own: false })
    expect(took()).toEqual(['+ada en-US'])
    await captions.start({ lang: 'en-US', own: true })
    expect(took()).toEqual(['+me en-US'])
    await captions.start({ lang: 'en-US', own: false })
    expect(took()).toEqual(['-me'])
  })

  it('subscribe to participants who publish later, and once to a participant who publishes again', async () => {
    session.publish('early')
    expect(took()).toEqual([])
    await captions.start({ lang: 'en-US', own: true })
    took()
    session.publish('grace')
    session.publish('grace', { streamId: 'another' })
    await captions.streamCreated(session.publish('me', { local: true, streamId: 'screen' }))
    expect(took()).toEqual(['+grace en-US'])
    session.leave('grace')
    session.publish('grace')
    expect(took()).toEqual(['+grace en-US'])
  })

  it('change the language, and stop', async () => {
    await captions.start({ lang: 'en-US', own: false })
    await captions.start({ lang: 'de-DE', own: false })
    expect(took()).toEqual(['+ada en-US', '+ada de-DE'])
    await captions.stop()
    session.publish('grace')
    expect([took(), captions.choice]).toEqual([['-ada'], undefined])
  })

  it('are not started without a language model, and keep the former language', async () => {
    session.refuse = (lang) => lang === 'xx'
    await expect(captions.start({ lang: 'xx', own: true })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(captions.choice).toBeUndefined()
    session.publish('ada', { streamId: 'adas screen' })
    await expect(captions.start({ lang: 'xx', own: false })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await captions.start({ lang: 'en-US', own: true })
    await expect(captions.start({ lang: 'xx', own: true })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    took()
    await captions.start({ lang: 'en-US', own: true })
    expect([took(), captions.choice?.lang, failed]).toEqual([[], 'en-US', []])
  })

  it('report single participants without captions, but not those who have left', async () => {
    session.refuse = (_, connectionId) => connectionId !== 'ada'
    await captions.start({ lang: 'en-US', own: true })
    session.publish('grace')
    await settled()
    expect(failed).toEqual(['me', 'grace'])
    session.publish('alan')
    session.leave('alan')
    await settled()
    expect(failed).toEqual(['me', 'grace'])
  })

  it.each([
    ['wait for a model that takes two more requests to load', 9_000, 2, 3],
    ['give up a model that is not loaded within six requests', 9_000, Infinity, 6],
    ['do not wait for a model that the service does not load', 10, Infinity, 1],
  ])('%s', async (_, answerMs, refusals, calls) => {
    jest.useFakeTimers()
    session.onSubscribe = () => {
      jest.advanceTimersByTime(answerMs)
      if (session.calls.length <= refusals) throw new ServiceError('NOT_READY', 'still being loaded')
    }
    const outcome = await captions.start({ lang: 'en-US', own: false }).catch(({ code }: ServiceError) => code)
    expect([session.calls.length, outcome]).toEqual([calls, refusals < calls ? undefined : 'NOT_READY'])
  })

  it('start without a participant to listen to', async () => {
    session.leave('ada')
    await captions.start({ lang: 'en-US', own: false })
    session.publish('grace')
    expect(took()).toEqual(['+grace en-US'])
  })
})
