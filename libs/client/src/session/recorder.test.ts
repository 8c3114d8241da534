import { afterEach, expect, test } from '@jest/globals'
import { connectRecorder, type RecorderHandOver } from './recorder.js'
import { Session } from './session.js'

const page: typeof globalThis & { sessionServiceRecorder?: RecorderHandOver } = globalThis
afterEach(() => void delete page.sessionServiceRecorder)

test('a page that no recorder has opened cannot join', async () => {
  await expect(connectRecorder()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
})

test('a page that cannot join says why to the recorder, and gives the token to nobody else', async () => {
  const told: string[] = []
  page.sessionServiceRecorder = { token: 'not an address', tell: (text) => void told.push(text) }
  await expect(connectRecorder(new Session())).rejects.toMatchObject({ code: 'INVALID' })
  expect(told).toEqual([expect.stringContaining('token: is not a URL')])
  expect(page).not.toHaveProperty('sessionServiceRecorder')
  await expect(connectRecorder()).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
})
