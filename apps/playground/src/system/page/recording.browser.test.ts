import { describe, expect, it } from '@jest/globals'
import { budgetMs, until } from '@session-service/testing'
import { useCall } from '../../fixtures/call.js'

describe('a recorded session', () => {
  const call = useCall({ frames: 5, masterEnv: { SERVICE_RECORDING: 'true' } })

  it('shows the indicator to all participants, also to later ones, and the file plays in the browser', async () => {
    const [ada, grace] = await call.both()
    const marks = [ada, grace].map(({ page }) => page.locator('.recording-mark'))
    const startedAt = performance.now()
    await ada.page.getByRole('button', { name: 'Start recording' }).click()
    const [{ id }] = await Promise.all([ada.event('recordingStarted', 20_000), grace.event('recordingStarted', 20_000)])
    const recordedAt = performance.now()
    for (const mark of marks) await mark.waitFor({ state: 'visible' })
    const alan = await call.join('Alan')
    await alan.page.locator('.recording-mark').waitFor({ state: 'visible' })
    const watcher = await call.join('Watcher', { role: 'SUBSCRIBER' })
    expect(await watcher.page.locator('.recording-mark').isVisible()).toBe(false)
    expect(await watcher.page.getByRole('button', { name: 'Start recording' }).isVisible()).toBe(false)
    await until('five seconds are recorded', () => performance.now() - recordedAt > 5_000)

    // Any publisher may stop the recording.
    await grace.page.getByRole('button', { name: 'Stop recording' }).click()
    for (const tab of [ada, grace, alan])
      expect(await tab.event('recordingStopped', 20_000)).toMatchObject({ id, reason: 'recordingStoppedByServer' })
    const mostSeconds = (performance.now() - startedAt) / 1_000
    for (const mark of marks) await mark.waitFor({ state: 'hidden' })
    await ada.page.getByText('The recording is ready.').waitFor({ timeout: budgetMs(30_000) })
    const list = ada.page.getByRole('button', { name: 'Recordings', includeHidden: true })
    expect(await list.getAttribute('aria-expanded')).toBe('false')
    await list.click()
    expect(await list.getAttribute('aria-expanded')).toBe('true')
    const link = ada.page.getByRole('link', { name: 'Watch' })
    expect(await link.getAttribute('href')).toBe(`/recordings/${id}`)

    const opened = ada.page.waitForEvent('popup')
    await link.click()
    const video = (await opened).locator('video')
    const shown = await until('the file plays', async () => {
      const now = await video.evaluate((element: HTMLVideoElement) => {
        element.muted = true
        void element.play()
        const { duration, videoWidth, videoHeight, currentTime } = element
        return { duration, videoWidth, videoHeight, currentTime }
      })
      return now.currentTime > 1 && now
    })
    expect(shown).toMatchObject({ videoWidth: 1280, videoHeight: 720 })
    expect(shown.duration).toBeGreaterThan(4)
    expect(shown.duration).toBeLessThan(mostSeconds)
    expect(await (await fetch(`${call.stack.masterUrl}/service/recordings/${id}/${id}.mp4`)).status).toBe(401)
  }, 180_000)

  it('shows the stop of a recording by the server', async () => {
    const [ada] = await call.both()
    await call.stack.api.startRecording({ session: call.sessionId })
    await ada.event('recordingStarted', 20_000)
    await call.stack.api.stopRecording(call.sessionId)
    await ada.page.getByText('The recording has stopped.').waitFor()
    expect(await ada.page.evaluate(() => window.playground.session?.recordings.size)).toBe(0)
  }, 60_000)
})
