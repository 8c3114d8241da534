import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import type { Route } from 'playwright-core'
import { useCall } from '../../fixtures/call.js'

describe('two participants in the playground', () => {
  const call = useCall({ frames: 5 })
  const { both } = call

  it('receive each other for 20 s, appear in the API, and end the session when both have left', async () => {
    const [ada, grace] = await both({ capture: 'full' })
    const first = await Promise.all([ada.received(), grace.received()])
    const size = await grace.page.evaluate(() => window.playground.publisher?.stream?.videoDimensions)
    expect(size).toEqual({ width: 960, height: 540 })
    const { connections } = await call.stack.api.getSession(call.sessionId)
    expect(connections.numberOfElements).toBe(2)
    for (const { status, publishers, subscribers } of connections.content)
      expect([status, publishers?.length, subscribers?.length]).toEqual(['active', 1, 1])

    const fullSize = until('the full size', async () => (await ada.received()).frameWidth === 960, 60_000)
    // The call needs this duration.
    await Promise.all([delay(20_000), fullSize])
    for (const [index, tab] of [ada, grace].entries()) {
      const [before, now] = [first[index], await tab.received()]
      expect(now.framesDecoded - (before?.framesDecoded ?? 0)).toBeGreaterThan(100)
      expect(now.frameWidth / now.frameHeight).toBeCloseTo(16 / 9, 1)
      expect(now.audioEnergy).toBeGreaterThan(before?.audioEnergy ?? 0)
      expect(now.audioSeconds - (before?.audioSeconds ?? 0)).toBeGreaterThan(15)
    }

    const [connectionId, streamId] = [await grace.connectionId, await grace.streamId]
    await grace.leave()
    await ada.event('connectionDestroyed')
    expect(await ada.events()).toEqual([
      { name: 'streamDestroyed', id: streamId, reason: 'disconnect' },
      { name: 'connectionDestroyed', id: connectionId, reason: 'disconnect' },
    ])
    expect((await grace.events()).map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      'publisher.streamDestroyed disconnect',
      'sessionDisconnected disconnect',
    ])
    await ada.leave()
    await until(
      'the session has ended',
      async () => (await call.stack.rest('GET', `/sessions/${call.sessionId}`)).status === 404,
    )
  }, 120_000)

  it('see the muting of microphone and camera of each other', async () => {
    const [ada, grace] = await both()
    const streamId = await ada.streamId
    const inGraces = grace.tile('Ada')
    await ada.page.keyboard.press('m')
    await inGraces.locator('.badge-muted').waitFor({ state: 'visible' })
    await ada.page.keyboard.press('v')
    await inGraces.and(grace.page.locator('.no-picture')).waitFor()
    expect(await inGraces.getAttribute('aria-label')).toBe('Ada, muted, camera off')
    await until('no further frames', async () => {
      const before = (await grace.received()).framesDecoded
      await delay(300)
      return (await grace.received()).framesDecoded === before
    })
    const { connections } = await call.stack.api.getSession(call.sessionId)
    const options = connections.content.flatMap(({ publishers }) => publishers ?? [])
    expect(options.find((stream) => stream.streamId === streamId)?.mediaOptions).toMatchObject({
      audioActive: false,
      videoActive: false,
    })
    await ada.page.getByRole('button', { name: 'Unmute microphone' }).click()
    await ada.page.getByRole('button', { name: 'Turn camera on' }).click()
    await inGraces.locator('.badge-muted').waitFor({ state: 'hidden' })
    await grace.seesFrames(10)
    expect(await grace.events('streamPropertyChanged')).toEqual(
      [
        ['audioActive', false, 'publishAudio'],
        ['videoActive', false, 'publishVideo'],
        ['audioActive', true, 'publishAudio'],
        ['videoActive', true, 'publishVideo'],
      ].map(([changed, value, reason]) => ({ name: 'streamPropertyChanged', id: streamId, changed, value, reason })),
    )
  })

  it('exchange messages and see the number of unread ones', async () => {
    const [ada, grace] = await both()
    await ada.page.keyboard.press('c')
    const field = ada.page.getByRole('textbox', { name: 'Message' })
    for (const text of ['Good morning', '<b>not bold</b>']) {
      await field.fill(text)
      await field.press('Enter')
    }
    const button = grace.page.getByRole('button', { name: 'Chat, 2 unread' })
    await button.waitFor()
    await button.click()
    const messages = grace.page.locator('.message')
    expect(await messages.locator('p').allTextContents()).toEqual(['Good morning', '<b>not bold</b>'])
    expect(await messages.locator('b').allTextContents()).toEqual(['Ada'])
    expect(await ada.page.locator('.message.own p').allTextContents()).toEqual(['Good morning', '<b>not bold</b>'])
    await grace.page.getByRole('button', { name: 'Chat (C)' }).waitFor()
    await grace.page.keyboard.press('Escape')
    await grace.page.locator('.chat').waitFor({ state: 'hidden' })
  })

  it('share a screen in addition to the camera, and stop', async () => {
    const [ada, grace] = await both()
    await ada.page.getByRole('button', { name: 'Share screen' }).click()
    const screen = grace.tile('Ada’s screen')
    await screen.and(grace.page.locator('.playing')).waitFor()
    const types = await grace.page.evaluate(() =>
      [...(window.playground.session?.streams.values() ?? [])]
        .filter(({ connection }) => !connection.local)
        .map(({ typeOfVideo }) => typeOfVideo),
    )
    expect(types.toSorted()).toEqual(['CAMERA', 'SCREEN'])
    await ada.page.getByRole('button', { name: 'Stop sharing' }).click()
    await screen.waitFor({ state: 'detached' })
    expect((await grace.events('streamDestroyed')).map(({ reason }) => reason)).toEqual(['unpublish'])
    await grace.seesFrames(5)
  })

  it('detect a closed tab at once', async () => {
    const [ada, grace] = await both()
    await grace.page.close()
    const { reason } = await ada.event('connectionDestroyed', 4_000)
    expect(reason).toBe('disconnect')
    await ada.tile('Grace').waitFor({ state: 'detached' })
  })

  it('rejoin the session after reloading the page', async () => {
    const [ada, grace] = await both()
    const before = await grace.connectionId
    await grace.page.goto(`${call.stack.playgroundUrl}/?session=${call.sessionId}`)
    await grace.isIn()
    expect(await grace.connectionId).not.toBe(before)
    await Promise.all([ada.seesFrames(5), grace.seesFrames(5)])
    expect((await ada.events('connectionDestroyed')).map(({ id }) => id)).toEqual([before])
    expect(await ada.page.locator('.tile').count()).toBe(2)
  })

  it('meet through the invite link, which opens the form of the same session', async () => {
    const [ada] = await both()
    await call.browser.context.grantPermissions(['clipboard-read', 'clipboard-write', 'camera', 'microphone'])
    await ada.page.bringToFront()
    await ada.page.getByRole('button', { name: 'Invite' }).click()
    await ada.page.getByText('Link copied').waitFor()
    const link = await ada.page.evaluate(() => navigator.clipboard.readText())
    expect(link).toBe(`${call.stack.playgroundUrl}/?session=${call.sessionId}`)
    const page = await call.browser.context.newPage()
    await page.goto(link)
    expect(await page.getByLabel('Session').inputValue()).toBe(call.sessionId)
  })

  it('cannot select another device while joining', async () => {
    const page = await call.browser.context.newPage()
    const held: Route[] = []
    await page.route('**/api/connection', (route) => void held.push(route))
    await page.goto(`${call.stack.playgroundUrl}/?session=devices&nickname=Ada`)
    const camera = page.getByLabel('Camera', { exact: true })
    const canChoose = (): Promise<boolean> => camera.isEnabled()
    await until('a camera can be selected', canChoose)
    const join = page.getByRole('button', { name: 'Join session' })
    await join.click()
    const refused = await until('the request to join', () => held.shift())
    expect(await canChoose()).toBe(false)
    await refused.fulfill({ json: { token: 'of another service' } })
    await until('a camera can be selected again', canChoose)
    await join.click()
    const taken = await until('the second request to join', () => held.shift())
    expect(await canChoose()).toBe(false)
    await taken.continue()
    await page.waitForFunction(() => window.playground.publisher?.published === true)
  })

  it('keep the microphone in use when another one cannot be opened, and see why in the dialog', async () => {
    const [{ page }] = await both()
    const stored = (): Promise<string | null> => page.evaluate(() => localStorage.getItem('playground.choices'))
    const before = await stored()
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('unplugged', 'NotFoundError'))
    })
    await page.getByRole('button', { name: 'Devices' }).click()
    const microphone = page.getByRole('dialog').getByLabel('Microphone')
    await until('a microphone can be selected', () => microphone.isEnabled())
    const used = await microphone.inputValue()
    const others = microphone.locator(`option:not([value="${used}"])`)
    await microphone.selectOption(await others.first().getAttribute('value'))
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .getByText('The microphone was not found. It may have been unplugged.')
      .waitFor({ timeout: 10_000 })
    await until('the microphone in use is shown', async () => (await microphone.inputValue()) === used)
    expect(await stored()).toBe(before)
  })
})
