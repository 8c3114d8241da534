import { SyntheticParticipant, until } from '@session-service/testing'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Tab } from './fixtures/tab.js'
import { useCall } from './fixtures/call.js'

const names = async (tab: Tab): Promise<string[]> => (await tab.events()).map(({ name }) => name)

/** A participant whose socket is gone for 12 s is evicted by a master that lives. */
const TOO_LONG_MS = 14_000

const guests: SyntheticParticipant[] = []
afterEach(async () => {
  for (const guest of guests.splice(0)) await guest.leave()
})

describe('what is lost on the way', () => {
  const call = useCall({ frames: 5, problemsExpected: true })
  const { both } = call
  /** Without a browser, which would take longer to come than a socket may be away. */
  const alanComes = async (): Promise<SyntheticParticipant> => {
    const { token } = await call.stack.api.createConnection(call.sessionId)
    const alan = await SyntheticParticipant.join(token ?? '')
    guests.push(alan)
    await alan.publish()
    return alan
  }
  /** From now on no socket can be opened by the tab, and the one it has is cut. */
  const cut = (tab: Tab): Promise<void> =>
    tab.page.evaluate(() => {
      const open = window.WebSocket
      Object.assign(window, { heal: () => (window.WebSocket = open) })
      window.WebSocket = class extends open {
        constructor() {
          // A port where nobody listens.
          super('ws://127.0.0.1:9')
        }
      }
      window.playground.session?.dropSocket()
    })
  const heal = (tab: Tab): Promise<void> => tab.page.evaluate(() => (window as unknown as { heal(): void }).heal())

  it('a cut socket is replaced; nobody notices, media never stops', async () => {
    const [ada, grace] = await both()
    await ada.page.evaluate(() => window.playground.session?.dropSocket())
    await ada.event('reconnected')
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    expect(await names(ada)).toEqual(['reconnecting', 'reconnected'])
    expect(await names(grace)).toEqual([])
    await ada.page.keyboard.press('m')
    await grace.tile('Ada').locator('.badge-muted').waitFor({ state: 'visible' })
  })

  it('a socket away for seconds: banner, media goes on, what was missed is told once', async () => {
    const [ada, grace] = await both()
    await cut(ada)
    await ada.page.getByText('Connection lost. Reconnecting…').waitFor()
    await grace.page.keyboard.press('m')
    await alanComes()
    const { framesDecoded } = await ada.seesFrames(10)
    const muting = ada.page.evaluate(() => window.playground.publisher?.publishAudio(false))
    await heal(ada)
    await ada.event('reconnected', 8_000)
    await muting
    await grace.tile('Ada').locator('.badge-muted').waitFor({ state: 'visible' })
    expect((await ada.received()).framesDecoded).toBeGreaterThanOrEqual(framesDecoded)
    const told = (await ada.events()).map(({ name, changed }) => (changed ? `${name} ${changed}` : name))
    expect(told.slice(0, 2)).toEqual(['reconnecting', 'reconnected'])
    // The own change, and what the others did meanwhile.
    expect(told.slice(2).toSorted()).toEqual([
      'connectionCreated',
      'streamCreated',
      'streamPropertyChanged audioActive',
      'streamPropertyChanged audioActive',
    ])
    await ada.page.getByText('Connection lost.').waitFor({ state: 'hidden' })
    expect(await ada.page.locator('.tile').count()).toBe(3)
  })

  it('a socket away too long: networkDisconnect for both sides, once', async () => {
    const [ada, grace] = await both()
    const [connectionId, streamId] = [await ada.connectionId, await ada.streamId]
    await cut(ada)
    await grace.event('connectionDestroyed', 20_000)
    // Only the server says that it was too long.
    expect(await names(ada)).toEqual(['reconnecting'])
    await heal(ada)
    await ada.page.getByRole('heading', { name: 'The connection was lost for too long.' }).waitFor()
    const told = (await ada.events()).map(({ name, reason }) => (reason ? `${name} ${reason}` : name))
    expect(told).toEqual([
      'reconnecting',
      'publisher.streamDestroyed networkDisconnect',
      'sessionDisconnected networkDisconnect',
    ])
    expect(await grace.events()).toEqual([
      { name: 'streamDestroyed', id: streamId, reason: 'networkDisconnect' },
      { name: 'connectionDestroyed', id: connectionId, reason: 'networkDisconnect' },
    ])
  })

  it('new ICE on both transports: new credentials, media goes on', async () => {
    const [ada, grace] = await both()
    const credentials = () =>
      ada.page.evaluate(async () => {
        const stats = await window.playground.session?.getStats()
        const of = (report: RTCStatsReport | undefined): unknown =>
          [...(report?.values() ?? [])].find(({ type }: { type: string }) => type === 'transport')
        return [stats?.send, stats?.recv].map(
          (report) => (of(report) as { iceLocalUsernameFragment?: string }).iceLocalUsernameFragment,
        )
      })
    const before = await credentials()
    await ada.page.evaluate(() => window.playground.session?.restartIce())
    await until('other credentials on both', async () => {
      const now = await credentials()
      return now.every((fragment, index) => fragment && fragment !== before[index])
    })
    await Promise.all([ada.seesFrames(30), grace.seesFrames(30)])
    expect(await names(ada)).toEqual([])
  })

  it('a master that goes away in order and comes back: the session goes on', async () => {
    const [ada, grace] = await both()
    const [master] = call.stack.masters
    if (!master) throw new Error('the stack has no master')
    await master.stop()
    await Promise.all([ada.event('reconnecting'), grace.event('reconnecting')])
    await call.stack.revive(master)
    await Promise.all([ada.event('reconnected', 12_000), grace.event('reconnected', 12_000)])
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    for (const tab of [ada, grace]) expect(await names(tab)).toEqual(['reconnecting', 'reconnected'])
  })

  it('the only master dead for longer than a socket may be lost: media never stops, the session goes on', async () => {
    const [ada, grace] = await both()
    const [master] = call.stack.masters
    if (!master) throw new Error('the stack has no master')
    master.kill('SIGKILL')
    await Promise.all([ada.event('reconnecting'), grace.event('reconnecting')])
    const since = Date.now()
    await until('it has been away for too long', () => Date.now() - since > TOO_LONG_MS, 30_000)
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    await call.stack.revive(master)
    await Promise.all([ada.event('reconnected', 12_000), grace.event('reconnected', 12_000)])
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    for (const tab of [ada, grace]) expect(await names(tab)).toEqual(['reconnecting', 'reconnected'])
  })

  it('a token is good for one: of two that use it at once exactly one is in', async () => {
    const { id } = await call.stack.api.createSession()
    const { token } = await call.stack.api.createConnection(id)
    const page = await call.browser.context.newPage()
    await page.goto(`${call.stack.masterUrl}/service/client/session-client.js`)
    const outcomes = await page.evaluate(async (once) => {
      // The library as any page gets it.
      const { Session } = (await import(location.href)) as typeof import('@session-service/client')
      const tries = [new Session(), new Session()].map((session) =>
        session.connect(once ?? '').then(
          () => 'in',
          (error: { code: string }) => error.code,
        ),
      )
      return Promise.all(tries)
    }, token)
    expect(outcomes.toSorted()).toEqual(['UNAUTHENTICATED', 'in'])
  })
})
