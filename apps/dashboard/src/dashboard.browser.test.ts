import { describe, expect, it } from '@jest/globals'
import { until, violationsOf } from '@session-service/testing'
import { layoutFaults } from './fixtures/layout-faults.js'
import { useDashboard } from './fixtures/dashboard.js'

const dashboard = useDashboard()
const button = (name: string | RegExp) => dashboard.now.page.getByRole('button', { name })
const link = (name: string | RegExp) => dashboard.now.page.getByRole('link', { name, exact: typeof name === 'string' })
const row = (text: string) => dashboard.now.page.getByRole('row').filter({ hasText: text })
const focused = (): Promise<string> =>
  dashboard.now.page.evaluate(
    () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
  )

describe('the sign-in', () => {
  it('refuses a wrong secret, and leads with the right one to the requested screen', async () => {
    const { page, stack } = dashboard.now
    await page.goto(`${stack.masterUrl}/service/dashboard/#/sessions?sort=participants`)
    await page.getByLabel('Secret', { exact: true }).waitFor()
    expect(await page.getByLabel('User name').inputValue()).toBe('SERVICEAPP')
    expect(await page.title()).toBe('Sign in – Session Service')
    await dashboard.now.signIn('a-wrong-secret-of-nothing')
    await page.getByRole('alert').getByText('This is not a secret of the service.').waitFor()
    await until('the field has focus', () => page.evaluate(() => document.activeElement?.id === 'secret'))
    expect(await violationsOf(page)).toEqual([])
    await dashboard.now.signIn(stack.secret)
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(await page.getByLabel('Order').inputValue()).toBe('participants')
    expect(await page.title()).toBe('Sessions – Session Service')
    await page.getByText('Live sessions appear here once a backend creates one.').waitFor()
  })

  it('returns to the same screen after the sign-in expired, and to the sign-in after a sign-out', async () => {
    const { page, browser, stack } = dashboard.now
    await stack.api.createSession({ customSessionId: 'expiry' })
    await dashboard.now.open('#/sessions/expiry', 'expiry')
    await button('End session').click()
    await browser.context.clearCookies()
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
    await page.getByText('Your sign-in has expired.').waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    await dashboard.now.signIn(stack.secret)
    await page.getByRole('heading', { name: 'expiry', level: 1 }).waitFor()

    await button('Account SERVICE_SECRET').click()
    await page.getByText('All operations').waitFor()
    expect(await link('Other dashboard').getAttribute('href')).toBe('https://metrics.example.org/d/1')
    expect(await link('API documentation').getAttribute('href')).toBe('/service/api/docs')
    await button('Sign out').click()
    await page.getByText('You are signed out.').waitFor()
    expect(await browser.context.cookies()).toEqual([])
    await stack.api.deleteSession('expiry')
  })
})

describe('live sessions', () => {
  it('shows a change of one tab in another one, without taking its focus or its text', async () => {
    const { page, browser, stack } = dashboard.now
    for (const customSessionId of ['live-1', 'live-2']) await stack.api.createSession({ customSessionId })
    await dashboard.now.open('#/sessions', 'Sessions')
    const other = await browser.context.newPage()
    await dashboard.now.open('#/sessions/live-1', 'live-1', { page: other })
    const search = page.getByLabel('Search by id')
    await search.fill('live')
    await page.getByText('2 sessions with “live”').waitFor()
    // Each sign-in has its own token, which the other tab does not know.
    await dashboard.now.replaceCookie(stack.secret)
    await other.getByRole('button', { name: 'End session' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'End session' }).click()
    await other.getByRole('alert').filter({ hasText: 'live-1' }).first().waitFor()
    await row('live-1').waitFor({ state: 'detached' })
    await row('live-2').waitFor()
    expect([await search.inputValue(), await search.evaluate((field) => field === document.activeElement)]).toEqual([
      'live',
      true,
    ])
    await other.close()
    await stack.api.deleteSession('live-2')
  })

  it('changes roles, unpublishes streams, evicts participants, records and ends the session', async () => {
    const { page, stack } = dashboard.now
    const { confirm } = { confirm: dashboard.now.confirm.bind(dashboard.now) }
    const defaultRecordingProperties = { resolution: '160x120', frameRate: 5 }
    await stack.api.createSession({ customSessionId: 'monday', defaultRecordingProperties })
    const [ada, grace] = [await dashboard.now.join('monday', 'Ada'), await dashboard.now.join('monday', 'Grace')]
    const stream = await ada.publish({ width: 160, height: 120, fps: 5, kbps: 100 })
    await ada.changeStream(stream.streamId, { audioActive: false })
    await dashboard.now.open('#/sessions/monday', 'monday')
    const first = page.getByRole('listitem', { name: 'Ada' })
    await first.getByText('Audio muted').waitFor()
    await first.getByText('Not measured').waitFor()

    await button(`Change role of ${grace.connectionId}`).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption('MODERATOR')
    await confirm('Change role')
    await page.getByRole('listitem', { name: 'Grace' }).getByText('moderator').waitFor()

    await button('Start recording').click()
    await page.getByRole('dialog').getByLabel('Name').fill('not a name')
    await page.getByRole('dialog').getByRole('button', { name: 'Start recording' }).click()
    await page.getByRole('dialog').getByRole('alert').getByText('name').waitFor()
    await page.getByRole('dialog').getByLabel('Name').fill('take-1')
    await confirm('Start recording')
    await row('take-1').getByText('started').waitFor()
    await page.getByText('recordingStatusChanged').first().waitFor()
    await page.getByRole('button', { name: 'Stop recording', exact: true }).click()
    await confirm('Stop recording')
    await row('take-1').getByText('ready').waitFor()

    await button(`Unpublish ${stream.streamId}`).click()
    await confirm('Unpublish')
    await first.getByText('Publishes nothing').waitFor()
    await button(`Evict ${ada.connectionId}`).click()
    await confirm('Evict')
    await first.waitFor({ state: 'detached' })
    expect((await stack.api.listConnections('monday')).content.map(({ id }) => id)).toEqual([grace.connectionId])

    await button('End session').click()
    await confirm('End session')
    await page.getByText('The session has ended, or never existed.').waitFor()
  })
})

describe('recordings', () => {
  it('plays, downloads and deletes a recording', async () => {
    const { page, stack } = dashboard.now
    await dashboard.now.open('#/recordings', 'Recordings')
    await page.getByText(/^1 recording, [\d.]+ kB$/).waitFor()
    await page.getByLabel('Status').selectOption('failed')
    await page.getByText('No recording matches.').waitFor()
    await page.getByLabel('Status').selectOption('ready')
    await button('Play monday').click()
    await until('the recording plays', () =>
      page.locator('video').evaluate((video: HTMLVideoElement) => video.currentTime > 0),
    )
    await page.keyboard.press('Escape')
    await until('the button has focus again', async () => (await focused()) === 'Play monday')
    const [download] = await Promise.all([page.waitForEvent('download'), link('Download monday').click()])
    expect(download.suggestedFilename()).toMatch(/^take-1\.(mp4|webm)$/)
    await button('Delete monday').click()
    await dashboard.now.confirm('Delete')
    await page.getByText('0 recordings, 0 B').waitFor()
    expect((await stack.api.listRecordings()).count).toBe(0)
  })
})

describe('records', () => {
  it('shows events with their payloads, filters them, and holds the list while paused', async () => {
    const { page, stack } = dashboard.now
    await dashboard.now.open('#/events', 'Events')
    await page.getByLabel('Name of the event').fill('participantJoined')
    const events = page.locator('.events > li')
    await until('only one kind of event is listed', async () =>
      (await events.allTextContents()).every((text) => text.startsWith('participantJoined')),
    )
    await events.first().locator('summary').click()
    await events.first().getByText('"sessionId": "monday"').waitFor()
    await page.getByLabel('Name of the event').fill('')
    await page.getByText('sessionDestroyed').first().waitFor()
    await button('Pause').click()
    const held = await events.count()
    await stack.api.createSession({ customSessionId: 'paused' })
    await until(
      'the header shows the session',
      async () => (await page.getByText('1 session', { exact: true }).count()) > 0,
    )
    expect(await events.count()).toBe(held)
    await button('Go on').click()
    await page.getByRole('link', { name: 'paused' }).waitFor()
    await stack.api.deleteSession('paused')
  })

  it('replays and deletes dead letters', async () => {
    const { page, stack, webhook } = dashboard.now
    await stack.postgres.query(
      `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, attempts, last_error, dead_at)
       SELECT 'dead-' || n, 'webhook', 'dead-' || n, 'dead' || n, '{"event":"dead' || n || '","timestamp":1790000000000,"sessionId":"s"}',
         1790000000000, 7, '503 Service Unavailable', now() FROM generate_series(1, 4) AS n`,
    )
    await dashboard.now.open('#/dead-letters', 'Dead letters')
    await page.getByText('4 events that the webhook did not accept').waitFor()
    await row('dead1').getByText('503 Service Unavailable').waitFor()
    await button('Replay dead1').click()
    await until('the webhook gets the event', () => webhook.accepted.some(({ body }) => body.includes('dead1')))
    await row('dead1').waitFor({ state: 'detached' })
    await button('Delete dead2').click()
    await dashboard.now.confirm('Delete')
    await row('dead2').waitFor({ state: 'detached' })
    await button('Replay all').click()
    await dashboard.now.confirm('Replay all')
    await page.getByText('There are none.').waitFor()
    await stack.postgres.query(
      `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, dead_at)
       VALUES ('dead-5', 'webhook', 'dead-5', 'dead5', '{}', 1790000000000, now())`,
    )
    await button('Delete all').click()
    await dashboard.now.confirm('Delete all')
    await page.getByText('There are none.').waitFor()
  })

  it('filters the history, shows an ended session with its users, and deletes it', async () => {
    const { page, secrets } = dashboard.now
    // Browsers add stored Basic credentials by themselves; the page keeps the role of its sign-in.
    const stored = Buffer.from(`SERVICEAPP:${secrets.tenant}`).toString('base64')
    await page.setExtraHTTPHeaders({ authorization: `Basic ${stored}` })
    await until('the history has the session', async () => {
      await dashboard.now.open('#/', 'Overview')
      await dashboard.now.open('#/history', 'History')
      await page.getByRole('table').or(page.getByText('appear here')).waitFor()
      return (await row('monday').count()) > 0
    })
    await page.getByLabel('Ended until').fill('2020-01-01')
    await page.getByText('No ended session matches.').waitFor()
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'History' }).click()
    await row('monday').waitFor()
    expect(await page.getByLabel('Ended until').inputValue()).toBe('')
    await page.getByLabel('Reason').selectOption('nodeCrashed')
    await page.getByText('No ended session matches.').waitFor()
    await page.getByLabel('Reason').selectOption('')
    await page.getByLabel('Session id').fill('monday ')
    await page.waitForURL(/session=monday/)
    // A click while the rows above disappear would hit nothing.
    await link('expiry').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Session id').inputValue()).toBe('monday ')
    await link('monday').click()
    await page.getByRole('heading', { name: 'monday', level: 1 }).waitFor()
    await page.getByText('Ended: session closed by server').waitFor()
    await page.getByText('Ada', { exact: true }).click()
    await page.getByText('force unpublish by server').first().waitFor()
    await page
      .getByText('take-1')
      .or(page.getByRole('cell', { name: 'monday' }))
      .first()
      .waitFor()
    await page.goBack()
    await until(
      'the filter is there again',
      async () => (await page.getByLabel('Session id').inputValue()) === 'monday',
    )
    await page.goForward()
    await button('Delete').click()
    await dashboard.now.confirm('Delete')
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor()
    await link('expiry').waitFor()
    expect(await row('monday').count()).toBe(0)
    await page.setExtraHTTPHeaders({})
  })
})

describe('the cluster', () => {
  it('drains a media node, undoes it, and removes the node', async () => {
    const { page, stack } = dashboard.now
    await dashboard.now.open('#/media-nodes', 'Media nodes')
    const [node] = (await stack.api.listMediaNodes()).content
    const id = node?.id ?? ''
    await stack.api.createSession({ customSessionId: 'on-the-node' })
    await dashboard.now.join('on-the-node', 'Ada')
    await row(id).getByText('0.2.0').waitFor()
    await button(`Drain ${id}`).click()
    await dashboard.now.confirm('Drain')
    await row(id).getByText('waiting idle to terminate').waitFor()
    await button(`Undo drain of ${id}`).click()
    await row(id).getByText('running').waitFor()
    await link(id).click()
    await page.getByRole('heading', { name: id, level: 1 }).waitFor()
    await link('on-the-node').waitFor()
    await button(`Remove ${id}`).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('When').selectOption('when-no-sessions')
    await dashboard.now.confirm('Remove')
    await page.getByText('waiting idle to terminate').waitFor()
    await button(`Undo drain of ${id}`).click()
    await page.locator('.title-line').getByText('running').waitFor()
    await stack.api.deleteSession('on-the-node')
  })

  it('finds properties, reconnects after a restart of the master, and drops an override', async () => {
    const { page, stack } = dashboard.now
    const { problems } = dashboard.now.browser
    const earlier = problems.length
    await dashboard.now.open('#/configuration', 'Configuration')
    await page.getByLabel('Search', { exact: true }).fill('SERVICE_SESSIONS_GARBAGE_INTERVAL')
    const property = page.locator('.properties > li').filter({ hasText: 'SERVICE_SESSIONS_GARBAGE_INTERVAL' })
    await property.getByText('default', { exact: true }).first().waitFor()
    // The account has features of the configuration.
    const accountRead = page.waitForResponse((answer) => answer.url().endsWith('/dashboard/account') && answer.ok())
    const { status } = await stack.rest('POST', '/restart', { SERVICE_SESSIONS_GARBAGE_INTERVAL: 777 })
    expect(status).toBe(200)
    await accountRead
    await property.getByText('override', { exact: true }).waitFor()
    await property.getByText(/^777/).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await button('Drop override of SERVICE_SESSIONS_GARBAGE_INTERVAL').click()
    await page.getByRole('dialog').getByText('All masters restart to apply this').waitFor()
    await dashboard.now.confirm('Drop and restart')
    await property.getByText('override', { exact: true }).waitFor({ state: 'detached' })
    await page.getByText('Live', { exact: true }).waitFor()
    // The page tried to connect while the master restarted.
    problems.push(...problems.splice(earlier).filter((problem) => !problem.includes('ERR_CONNECTION_REFUSED')))
  })

  it('shows the figures, the media nodes and the problems on the overview', async () => {
    const { page, stack } = dashboard.now
    await stack.postgres.query(
      `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, dead_at)
       VALUES ('dead-6', 'webhook', 'dead-6', 'dead6', '{}', 1790000000000, now())`,
    )
    await dashboard.now.open('#/', 'Overview')
    await page.getByRole('region', { name: 'Figures' }).getByText('1 / 1').waitFor()
    await page.getByText('1 event was not delivered to the webhook').waitFor()
    await page.getByRole('meter').waitFor()
    await link(/^Show: 1 event/).click()
    await page.getByRole('heading', { name: 'Dead letters', level: 1 }).waitFor()
    await button('Delete dead6').click()
    await dashboard.now.confirm('Delete')
  })

  it('says that the connection is lost while the master is frozen, and is live again afterwards', async () => {
    const { page, stack } = dashboard.now
    const [master] = stack.masters
    const outdated = page.locator('.glance.stale').getByText('All systems up')
    await dashboard.now.open('#/', 'Overview')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('All systems up').waitFor()
    master?.kill('SIGSTOP')
    try {
      const lost = page.getByText('Connection lost, retrying…')
      await until('the header says that the connection is lost', () => lost.isVisible(), 20_000)
      expect(await outdated.count()).toBe(1)
    } finally {
      master?.kill('SIGCONT')
    }
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await outdated.count()).toBe(0)
  })
})

describe('the dashboard for every user', () => {
  const SCREENS = [
    ['#/', 'Overview'],
    ['#/sessions', 'Sessions'],
    ['#/sessions/every', 'every'],
    ['#/media-nodes', 'Media nodes'],
    ['#/recordings', 'Recordings'],
    ['#/events?name=sessionCreated', 'Events'],
    ['#/dead-letters', 'Dead letters'],
    ['#/history', 'History'],
    ['#/configuration?search=SERVICE_SESSIONS', 'Configuration'],
    ['#/nowhere', 'Not found'],
  ] as const
  const PHONE = { width: 360, height: 740 }
  const DESKTOP = { width: 1280, height: 800 }

  it('has no violation of accessibility rules on any screen, light and dark', async () => {
    const { page, stack } = dashboard.now
    await stack.api.createSession({ customSessionId: 'every' })
    const ada = await dashboard.now.join('every', 'Ada')
    await ada.publish({ width: 160, height: 120, fps: 5, kbps: 100 })
    for (const [hash, heading] of SCREENS) {
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await dashboard.now.open(hash, heading)
      await page.locator('.loading').waitFor({ state: 'detached' })
      const light = await violationsOf(page)
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
      expect({ hash, light, dark: await violationsOf(page, ['color-contrast']) }).toEqual({ hash, light: [], dark: [] })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }, 180_000)

  it('has a dialog without violations, which Escape closes and which returns focus', async () => {
    const { page } = dashboard.now
    await dashboard.now.open('#/sessions/every', 'every')
    await button('End session').click()
    await page.getByRole('dialog').waitFor()
    expect(await focused()).toBe('Cancel')
    expect(await violationsOf(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until('the button has focus again', async () => (await focused()) === 'End session')
  })

  it('closes a dialog when the browser goes back to another screen', async () => {
    const { page } = dashboard.now
    await dashboard.now.open('#/sessions', 'Sessions')
    await dashboard.now.open('#/sessions/every', 'every')
    await button('End session').click()
    await page.getByRole('dialog').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('fits a phone without horizontal scrolling, with targets of at least 44 px and a menu', async () => {
    const { page } = dashboard.now
    await page.setViewportSize(PHONE)
    for (const [hash, heading] of SCREENS) {
      await dashboard.now.open(hash, heading)
      await page.locator('.loading').waitFor({ state: 'detached' })
      expect({ hash, faults: await layoutFaults(page) }).toEqual({ hash, faults: [] })
    }
    await button('Menu').click()
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /^Recordings/ })
      .click()
    await page.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.setViewportSize(DESKTOP)
  })

  it('searches everything after "/", and skips to the content by keyboard', async () => {
    const { page } = dashboard.now
    await dashboard.now.open('#/recordings', 'Recordings')
    await page.getByRole('heading', { level: 1 }).focus()
    await page.keyboard.press('/')
    await page.keyboard.type('ever')
    await link(/^every/).waitFor()
    expect(await violationsOf(page)).toEqual([])
    await link(/^every/).press('Enter')
    await page.getByRole('heading', { name: 'every', level: 1 }).waitFor()
    await until('focus is on the heading', async () => (await focused()) === 'every')
    expect(await page.title()).toBe('every – Session Service')
    await page.goBack()
    await page.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    expect(new URL(page.url()).hash).toBe('#/recordings')
  })
})

describe('other roles', () => {
  it('shows the account of another tab that signed in, once the tab is visible again', async () => {
    const { page, secrets } = dashboard.now
    await dashboard.now.open('#/sessions/every', 'every')
    await button('End session').waitFor()
    await dashboard.now.replaceCookie(secrets.reader)
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await button('Account reports').waitFor()
    expect(await button('End session').count()).toBe(0)
  })

  it('offers a read-only secret neither actions nor the screens of the administration', async () => {
    const { page, secrets } = dashboard.now
    await dashboard.now.become(secrets.reader, '#/sessions/every', 'every')
    await page.getByRole('listitem', { name: 'Ada' }).waitFor()
    const controls = page.locator('main').getByRole('button')
    expect(await controls.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))).toEqual([
      'Copy the id of the session',
    ])
    const nav = page.getByRole('navigation', { name: 'Screens' })
    expect(await nav.getByRole('link').allTextContents()).not.toContain('Configuration')
    await dashboard.now.open('#/configuration', 'Not permitted')
    await dashboard.now.open('#/dead-letters', 'Dead letters')
    await page.getByText('There are none.').waitFor()
    await dashboard.now.open('#/', 'Overview')
    await page.getByRole('heading', { name: 'Busiest sessions' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Media nodes' }).count()).toBe(0)
  })

  it('shows a secret with a prefix its own sessions, and lets it end them', async () => {
    const { page, stack, secrets } = dashboard.now
    await stack.api.createSession({ customSessionId: 'team-1' })
    await dashboard.now.become(secrets.tenant, '#/sessions', 'Sessions')
    await page.getByRole('main').getByText('1 session', { exact: true }).waitFor()
    await link('team-1').click()
    await button('End session').click()
    await dashboard.now.confirm('End session')
    await page.getByText('The session has ended, or never existed.').waitFor()
    await dashboard.now.open('#/sessions/every', 'every')
    await page.getByRole('alert').getByText('team-').waitFor()
  })

  it('says when the sign-in is possible again after too many wrong secrets', async () => {
    const { page, stack, browser } = dashboard.now
    const body = JSON.stringify({ secret: 'wrong' })
    const headers = { 'content-type': 'application/json' }
    const attempt = () => fetch(`${stack.masterUrl}/service/dashboard/sign-in`, { method: 'POST', headers, body })
    await browser.context.clearCookies()
    await page.reload()
    await page.getByLabel('Secret', { exact: true }).waitFor()
    const sentence = page.getByRole('alert').getByText(/^Too many attempts failed\. Try again in \d+ s/)
    // One attempt is forgotten each second.
    await until('the page says that the service throttles', async () => {
      await Promise.all(Array.from({ length: 60 }, attempt))
      await dashboard.now.signIn('another-wrong-secret')
      await page
        .getByRole('alert')
        .getByText(/secret of the service|Too many/)
        .waitFor()
      return sentence.isVisible()
    })
  })

  it('logs no error but answers of 401, 403, 404, 409, 400 and 429 that the tests cause', () => {
    const causes = /status of (400|401|403|404|409|429) /
    expect(dashboard.now.browser.problems.filter((problem) => !causes.test(problem))).toEqual([])
  })
})
