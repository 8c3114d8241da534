import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { launchBrowser, startStack, type Stack, type TestBrowser } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const PATIENCE_MS = 60_000

let stack: Stack
let browser: TestBrowser
let evil: Server

beforeAll(async () => {
  evil = createServer((request, response) => {
    const action = stack.masterUrl + (request.url ?? '/')
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><form method="post" action="${action}"><button>Win</button></form>`)
  })
  evil.listen(0, '127.0.0.1')
  ;[stack, browser] = await Promise.all([startStack({ nodes: 0 }), launchBrowser()])
}, PATIENCE_MS)
afterAll(async () => {
  await browser.close()
  evil.close()
  await stack.stop()
})

const count = async (): Promise<number> => (await stack.api.listSessions()).numberOfElements

/** The browser prompts for the credentials once and adds them to each later request to the service. */
async function storeCredentials(): Promise<void> {
  const url = new URL('/service/api/config', stack.masterUrl)
  Object.assign(url, { username: 'SERVICEAPP', password: stack.secret })
  const page = await browser.context.newPage()
  await page.goto(url.href)
  await page.close()
}

describe('a browser that has stored the credentials', () => {
  it.each(['/service/api/sessions', '/service/api/restart'])(
    'cannot be made to post a form to %s by a foreign page',
    async (path) => {
      await storeCredentials()
      const before = await count()
      const page = await browser.context.newPage()
      await page.goto(`http://localhost:${(evil.address() as AddressInfo).port}${path}`)
      const answering = page.waitForResponse((answer) => answer.url() === stack.masterUrl + path)
      await page.getByRole('button').click()
      const answer = await answering
      expect(await answer.request().headerValue('authorization')).toMatch(/^Basic /)
      expect(answer.status()).toBe(403)
      expect(await count()).toBe(before)
    },
  )
})
