import { afterEach, expect, it } from '@jest/globals'
import { connectRecorder, type RecorderHandOver } from './recorder.js'
import { Session } from './session.js'

const page: typeof globalThis & { sessionServiceRecorder?: RecorderHandOver } = globalThis
afterEach(() => void delete page.sessionServiceRecorder)

it('rejects in a page that no recorder has opened', async () => {
  await expect(connectRecorder()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
})

it('reports the reason to the recorder when the page cannot join, and hides the token from other scripts', async () => {
  const reported: string[] = []
  page.sessionServiceRecorder = { token: 'not an address', tell: (text) => void reported.push(text) }
  await expect(connectRecorder(new Session())).rejects.toMatchObject({ code: 'INVALID' })
  expect(reported).toEqual([expect.stringContaining('token: is not a URL')])
  expect(page).not.toHaveProperty('sessionServiceRecorder')
  await expect(connectRecorder()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
})
