import { launchBrowser, type Stack, startStack, type TestBrowser } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

const PATIENCE_MS = 60_000

let stack: Stack
let browser: TestBrowser

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([startStack({ nodes: 0 }), launchBrowser()])
}, PATIENCE_MS)
afterAll(async () => {
  await browser.close()
  await stack.stop()
}, PATIENCE_MS)

it('the page of the documentation sends the values of its form, header parameters as headers', async () => {
  const page = await browser.context.newPage()
  await page.setExtraHTTPHeaders({
    authorization: stack.authorization,
  })
  const foreign: string[] = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'data:' && url.origin !== stack.masterUrl) foreign.push(request.url())
  })
  await page.goto(`${stack.masterUrl}/service/api/docs`)
  await page.getByText('Create a session').first().click()
  const operation = page.locator('#operations-Sessions-createSession')
  await operation.getByPlaceholder('Idempotency-Key').fill('key-1')
  await operation.locator('textarea').fill('{"customSessionId":"from-the-page"}')

  const statuses: (string | undefined)[] = []
  for (const expected of [undefined, 'true']) {
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ])
    expect(answer.status()).toBe(200)
    expect(answer.request().headers()['idempotency-key']).toBe('key-1')
    expect(new URL(answer.url()).search).toBe('')
    statuses.push(answer.headers()['idempotent-replayed'])
    expect(statuses.at(-1)).toBe(expected)
  }
  expect(await stack.api.getSession('from-the-page')).toMatchObject({ id: 'from-the-page' })
  if (process.env.DOCS_SCREENSHOT) await page.screenshot({ path: process.env.DOCS_SCREENSHOT })
  expect(foreign).toEqual([])
  expect(browser.problems).toEqual([])
})
