import { describe, expect, it } from '@jest/globals'
import type { LoggedEvent } from '../../fixtures/tab.js'
import { useCall } from '../../fixtures/call.js'

declare global {
  interface Window {
    /** The last capture of the page. */
    captured: MediaStream
  }
}

const brief = (events: readonly LoggedEvent[]): string[] => events.map(({ name, reason }) => `${name} ${reason}`)

describe('REST calls during a session', () => {
  const call = useCall({ frames: 2 })
  const { join, both } = call

  it('DELETE stream ends the stream for both participants with forceUnpublishByServer', async () => {
    const [ada, grace] = await both()
    const streamId = await grace.streamId
    await call.stack.api.deleteStream(call.sessionId, streamId)
    await ada.event('streamDestroyed')
    expect(await ada.events()).toEqual([{ name: 'streamDestroyed', id: streamId, reason: 'forceUnpublishByServer' }])
    await grace.event('publisher.streamDestroyed')
    expect(brief(await grace.events())).toEqual(['publisher.streamDestroyed forceUnpublishByServer'])
    await grace.page.getByText('Your camera and microphone were stopped by the host.').waitFor()
    await ada.tile('Grace').and(ada.page.locator('.no-picture')).waitFor()
  })

  it('DELETE connection ends stream and connection in order with forceDisconnectByServer', async () => {
    const [ada, grace] = await both()
    const [streamId, connectionId] = [await grace.streamId, await grace.connectionId]
    await call.stack.api.deleteConnection(call.sessionId, connectionId)
    await ada.event('connectionDestroyed')
    expect(await ada.events()).toEqual([
      { name: 'streamDestroyed', id: streamId, reason: 'forceDisconnectByServer' },
      { name: 'connectionDestroyed', id: connectionId, reason: 'forceDisconnectByServer' },
    ])
    await grace.page.getByRole('heading', { name: 'You were removed from the session.' }).waitFor()
    expect(brief(await grace.events())).toEqual([
      'publisher.streamDestroyed forceDisconnectByServer',
      'sessionDisconnected forceDisconnectByServer',
    ])
    await grace.page.getByRole('button', { name: 'Join again' }).click()
    await grace.page.getByRole('button', { name: 'Join session' }).click()
    await grace.isIn()
    await Promise.all([ada.seesFrames(2), grace.seesFrames(2)])
  })

  it('an eviction while a page joins leads to the screen after leaving, with closed devices', async () => {
    const page = await call.browser.context.newPage()
    page.setDefaultTimeout(20_000)
    await page.addInitScript(() => {
      const reason = 'forceDisconnectByServer'
      const data = JSON.stringify({ jsonrpc: '2.0', method: 'sessionDisconnected', params: { reason } })
      window.WebSocket = class extends WebSocket {
        constructor(url: string | URL, protocols?: string | string[]) {
          super(url, protocols)
          this.addEventListener('message', (event) => {
            if (String(event.data).includes('"resumeKey"')) this.dispatchEvent(new MessageEvent('message', { data }))
          })
        }
      }
      const capture = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = async (wanted) => (window.captured = await capture(wanted))
    })
    await page.goto(`${call.stack.playgroundUrl}/?session=${call.sessionId}&nickname=Ada&autojoin=1`)
    await page.getByRole('heading', { name: 'You were removed from the session.' }).waitFor()
    await page.waitForFunction(() => window.captured.getTracks().every(({ readyState }) => readyState === 'ended'))
    await page.getByRole('button', { name: 'Join again' }).waitFor()
    expect(await page.evaluate(() => window.playground.session === undefined)).toBe(true)
  })

  it('DELETE session disconnects all participants with sessionClosedByServer', async () => {
    const [ada, grace] = await both()
    await call.stack.api.deleteSession(call.sessionId)
    for (const tab of [ada, grace]) {
      await tab.page.getByRole('heading', { name: 'The session was closed.' }).waitFor()
      const events = brief(await tab.events())
      expect(events.slice(-2)).toEqual([
        'publisher.streamDestroyed sessionClosedByServer',
        'sessionDisconnected sessionClosedByServer',
      ])
      expect(new Set(events).size).toBe(events.length)
    }
  })

  it('a SUBSCRIBER can watch but not publish; a MODERATOR can evict others', async () => {
    const [ada, grace] = await both()
    const watcher = await join('Watcher', { role: 'SUBSCRIBER' })
    await watcher.seesFrames(2)
    const refused = await watcher.page.evaluate(async () => {
      const { session } = window.playground
      const early = await session?.publish({ video: false }).catch((error: unknown) => String(error))
      return { early, capabilities: session?.capabilities }
    })
    expect(refused).toMatchObject({
      early: 'ServiceError: publish: the role SUBSCRIBER does not permit it',
      capabilities: { subscribe: true, publish: false, forceDisconnect: false },
    })
    const boss = await join('Boss', { role: 'MODERATOR' })
    const [streamId, connectionId] = [await ada.streamId, await grace.connectionId]
    await boss.page.evaluate((id) => window.playground.session?.forceUnpublish(id), streamId)
    await ada.event('publisher.streamDestroyed')
    expect(brief(await ada.events('publisher.streamDestroyed'))).toEqual([
      'publisher.streamDestroyed forceUnpublishByUser',
    ])
    await boss.page.evaluate((id) => window.playground.session?.forceDisconnect(id), connectionId)
    await grace.page.getByRole('heading', { name: 'A moderator removed you from the session.' }).waitFor()
    const { reason } = await watcher.event('connectionDestroyed')
    expect(reason).toBe('forceDisconnectByUser')
  })
})
