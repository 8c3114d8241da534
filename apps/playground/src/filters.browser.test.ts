import { until } from '@session-service/testing'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Page, WebSocketRoute } from 'playwright-core'
import { useCall } from './fixtures/call.js'
import { controlsIn } from './fixtures/measures.js'

const TARGET_PX = 44
const VIEWPORTS = [
  { width: 1280, height: 800 },
  { width: 320, height: 568 },
]

interface Frame {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly type?: string; readonly options?: object; readonly streamId?: string }
}

/** Answers the requests for filters instead of the service. */
describe('the menu with filters', () => {
  const call = useCall({ frames: 3 })
  const calls: string[] = []
  let refusal: { code: number; message: string } | undefined
  let sockets: WebSocketRoute[] = []

  beforeAll(() =>
    call.browser.context.routeWebSocket(/\/service\/signalling/, (socket) => {
      sockets.push(socket)
      const server = socket.connectToServer()
      socket.onMessage((message) => {
        const { id, method, params = {} } = JSON.parse(String(message)) as Frame
        if (method !== 'applyFilter' && method !== 'removeFilter') return server.send(message)
        const { type, options } = params
        calls.push([method, type].filter(Boolean).join(' '))
        const result = method === 'applyFilter' ? { filter: { type, options, lastExecMethod: {} } } : {}
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...(refusal ? { error: refusal } : { result }) }))
      })
    }),
  )
  beforeEach(() => {
    calls.splice(0)
    sockets = []
    refusal = undefined
  })

  const menu = (page: Page) => page.getByRole('combobox', { name: 'Filter' })
  const twoPeople = async (): Promise<{ page: Page; streamId: string; connectionId: string }> => {
    const [ada] = await call.both()
    await ada.page.bringToFront()
    return { page: ada.page, streamId: await ada.streamId, connectionId: await ada.connectionId }
  }

  it('is on the own tile only, and applies and removes filters with the keyboard', async () => {
    const { page } = await twoPeople()
    await menu(page).waitFor()
    expect(await menu(page).count()).toBe(1)
    expect(await page.locator('.tile.local').getByRole('combobox').count()).toBe(1)
    await menu(page).focus()
    await page.keyboard.press('ArrowDown')
    await until('the filter', () => calls.includes('applyFilter BlurFilter'))
    await page.waitForFunction(() => window.playground.publisher?.stream?.filter?.type === 'BlurFilter')
    await until('the menu', async () => (await menu(page).getAttribute('aria-busy')) === 'false')
    expect(await menu(page).inputValue()).toBe('BlurFilter')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Filter')
    await menu(page).selectOption('Less noise')
    await until('the next filter', () => calls.includes('applyFilter NoiseSuppressionFilter'))
    await until('the menu', async () => (await menu(page).getAttribute('aria-busy')) === 'false')
    await menu(page).selectOption('No filter')
    await until('the end', () => calls.length === 4)
    expect(calls).toEqual([
      'applyFilter BlurFilter',
      'removeFilter',
      'applyFilter NoiseSuppressionFilter',
      'removeFilter',
    ])
    await page.waitForFunction(() => window.playground.publisher?.stream?.filter === undefined)
  })

  it('shows a filter that another participant applied', async () => {
    const { page, streamId, connectionId } = await twoPeople()
    await menu(page).waitFor()
    const newValue = { type: 'GStreamerFilter', options: { command: 'sepia' }, lastExecMethod: {} }
    const params = { streamId, connectionId, changedProperty: 'filter', newValue, reason: 'applyFilter' }
    sockets[0]?.send(JSON.stringify({ jsonrpc: '2.0', method: 'streamPropertyChanged', params }))
    await until('the filter', async () => (await menu(page).inputValue()) === 'GStreamerFilter')
    expect(await menu(page).locator('option:checked').textContent()).toBe('GStreamer')
  })

  it('explains a refusal, and disappears where the service offers no filters', async () => {
    const { page } = await twoPeople()
    refusal = { code: 204, message: 'the media node is too busy' }
    await menu(page).selectOption('Blur')
    await page.getByText('The service has no capacity for another filter.').waitFor()
    expect(await menu(page).inputValue()).toBe('')
    refusal = { code: 996, message: 'the media node cannot apply filters' }
    await menu(page).selectOption('Blur')
    await page.getByText('This service does not offer filters.').waitFor()
    await menu(page).waitFor({ state: 'hidden' })
  })

  it('has a target of at least 44 px inside the tile on all screens', async () => {
    const { page } = await twoPeople()
    for (const viewport of VIEWPORTS) {
      await page.setViewportSize(viewport)
      const [control] = await controlsIn(page.locator('.tile-filter'))
      expect(Math.min(control?.width ?? 0, control?.height ?? 0)).toBeGreaterThanOrEqual(TARGET_PX)
      expect(control?.contrast).toBeGreaterThanOrEqual(3)
      const [tile, box] = await Promise.all([page.locator('.tile.local').boundingBox(), menu(page).boundingBox()])
      expect((box?.x ?? 0) >= (tile?.x ?? 0)).toBe(true)
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual((tile?.x ?? 0) + (tile?.width ?? 0))
    }
  })
})
