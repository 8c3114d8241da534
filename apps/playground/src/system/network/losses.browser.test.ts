import { postponeEviction, SyntheticParticipant, until } from '@session-service/testing'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Tab } from '../../fixtures/tab.js'
import { useCall } from '../../fixtures/call.js'

const names = async (tab: Tab): Promise<string[]> => (await tab.events()).map(({ name }) => name)

/** A running master evicts a participant after 12 s without a socket. */
const TOO_LONG_MS = 14_000

const guests: SyntheticParticipant[] = []
afterEach(async () => {
  for (const guest of guests.splice(0)) await guest.leave()
})

describe('a loss of the connection', () => {
  const call = useCall({ frames: 5, problemsExpected: true })
  const { both } = call
  /** A participant without a browser, which starts faster than a tab. */
  const alanComes = async (): Promise<SyntheticParticipant> => {
    const { token } = await call.stack.api.createConnection(call.sessionId)
    const alan = await SyntheticParticipant.join(token ?? '')
    guests.push(alan)
    await alan.publish()
    return alan
  }
  /** Cuts the socket of the tab and prevents it from opening another one. */
  const cut = (tab: Tab): Promise<void> =>
    tab.page.evaluate(() => {
      const open = window.WebSocket
      Object.assign(window, { heal: () => (window.WebSocket = open) })
      window.WebSocket = class extends open {
        constructor() {
          // A port without a listener.
          super('ws://127.0.0.1:9')
        }
      }
      window.playground.session?.dropSocket()
    })
  const heal = (tab: Tab): Promise<void> => tab.page.evaluate(() => (window as unknown as { heal(): void }).heal())

  it('replaces a cut socket without an event for the others and without interrupting media', async () => {
    const [ada, grace] = await both()
    await ada.page.evaluate(() => window.playground.session?.dropSocket())
    await ada.event('reconnected')
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    expect(await names(ada)).toEqual(['reconnecting', 'reconnected'])
    expect(await names(grace)).toEqual([])
    await ada.page.keyboard.press('m')
    await grace.tile('Ada').locator('.badge-muted').waitFor({ state: 'visible' })
  })

  it('shows a banner during a loss of the socket, keeps media running, and emits missed events once', async () => {
    const [ada, grace] = await both()
    await postponeEviction(call.stack.postgres, await ada.connectionId)
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
    // The own change and the changes of the others.
    expect(told.slice(2).toSorted()).toEqual([
      'connectionCreated',
      'streamCreated',
      'streamPropertyChanged audioActive',
      'streamPropertyChanged audioActive',
    ])
    await ada.page.getByText('Connection lost.').waitFor({ state: 'hidden' })
    expect(await ada.page.locator('.tile').count()).toBe(3)
  })

  it('ends with networkDisconnect on both sides, once, after a loss of the socket beyond the timeout', async () => {
    const [ada, grace] = await both()
    const [connectionId, streamId] = [await ada.connectionId, await ada.streamId]
    await cut(ada)
    await grace.event('connectionDestroyed', 20_000)
    // Only the server decides on the eviction.
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

  it('restarts ICE on both transports with new credentials and keeps media running', async () => {
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
    await until('new credentials on both transports', async () => {
      const now = await credentials()
      return now.every((fragment, index) => fragment && fragment !== before[index])
    })
    await Promise.all([ada.seesFrames(30), grace.seesFrames(30)])
    expect(await names(ada)).toEqual([])
  })

  it('continues the session across a graceful restart of the master', async () => {
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

  it('continues session and media when the only master is down for longer than the eviction timeout', async () => {
    const [ada, grace] = await both()
    const [master] = call.stack.masters
    if (!master) throw new Error('the stack has no master')
    master.kill('SIGKILL')
    await Promise.all([ada.event('reconnecting'), grace.event('reconnecting')])
    const since = Date.now()
    await until('the eviction timeout has passed', () => Date.now() - since > TOO_LONG_MS, 30_000)
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    await call.stack.revive(master)
    await Promise.all([ada.event('reconnected', 12_000), grace.event('reconnected', 12_000)])
    await Promise.all([ada.seesFrames(10), grace.seesFrames(10)])
    for (const tab of [ada, grace]) expect(await names(tab)).toEqual(['reconnecting', 'reconnected'])
  })

  it('lets exactly one of two clients join that use a token at the same time', async () => {
    const { id } = await call.stack.api.createSession()
    const { token } = await call.stack.api.createConnection(id)
    const page = await call.browser.context.newPage()
    await page.goto(`${call.stack.masterUrl}/service/client/session-client.js`)
    const outcomes = await page.evaluate(async (once) => {
      // The library that the master serves.
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
