import { launchBrowser, startStack, type Stack, type TestBrowser, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { V2_PREFIX, V2Page } from '../../fixtures/v2-page.js'

const PATIENCE_MS = 60_000
const PIPELINES = { meter: { kind: 'audio', pipeline: 'level name=meter interval=100000000', properties: [] } }

/** The parts of the library of version 2 for filters. */
interface Filter {
  type: string
  lastExecMethod?: { method: string; params: object }
  execMethod(method: string, params: object): Promise<void>
  addEventListener(
    type: string,
    handler: (event: { type: string; target: Filter; data: unknown }) => void,
  ): Promise<void>
  removeEventListener(type: string): Promise<void>
}
interface FilteredStream {
  filter?: Filter
  applyFilter(type: string, options: object): Promise<Filter>
  removeFilter(): Promise<void>
}

let stack: Stack
let browser: TestBrowser

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([
    startStack({
      masterEnv: {
        SERVICE_COMPAT_PREFIX: V2_PREFIX,
        SERVICE_EDITION: 'pro',
      },
      nodeEnv: { MEDIA_NODE_FILTER_PIPELINES: JSON.stringify(PIPELINES) },
    }),
    launchBrowser(),
  ])
}, PATIENCE_MS)
afterEach(async () => {
  for (const page of browser.context.pages().slice(1)) await page.close()
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})

/** A page that publishes, and one of a moderator that receives the stream. */
async function meeting(): Promise<{ ada: V2Page; grace: V2Page; streamId: string }> {
  const { id } = await stack.api.createSession()
  const ada = await V2Page.open(browser, stack, id, { name: 'ada' })
  const grace = await V2Page.open(browser, stack, id, { name: 'grace', role: 'MODERATOR' })
  const streamId = await ada.publish()
  await grace.receives(streamId)
  await Promise.all([ada, grace].map((page) => page.page.evaluate(showStreamsById, streamId)))
  return { ada, grace, streamId }
}

/** Runs in the page, which writes the values of events as JSON: a filter of the library refers to its stream. */
function showStreamsById(streamId: string): void {
  const stream = window.v2.subscribers.get(streamId)?.stream ?? window.v2.publisher?.stream
  if (stream) Object.assign(stream, { toJSON: () => streamId })
}

/** Errors that the library reports to the application. */
const exceptions = async (page: V2Page): Promise<string[]> =>
  (await page.events()).filter((event) => event.startsWith('exception'))

describe('a page with the unmodified library of version 2', () => {
  it(
    'applies, changes and removes the filter of another page, whose media goes on',
    async () => {
      const { ada, grace, streamId } = await meeting()
      const type = await grace.page.evaluate(async (id) => {
        const stream = window.v2.subscribers.get(id)?.stream as unknown as FilteredStream
        const filter = await stream.applyFilter('AudioGainFilter', { gain: 0.5 })
        await filter.execMethod('setGain', { gain: 2 })
        return stream.filter?.type
      }, streamId)
      expect(type).toBe('AudioGainFilter')
      const change = `streamPropertyChanged ${streamId} filter`
      for (const reason of ['applyFilter', 'execFilterMethod'])
        await until(`the event ${reason}`, async () =>
          (await ada.events()).some((event) => event.startsWith(change) && event.includes(reason)),
        )
      expect(
        await ada.page.evaluate(
          () => (window.v2.publisher?.stream as unknown as FilteredStream | undefined)?.filter?.lastExecMethod,
        ),
      ).toEqual({ method: 'setGain', params: { gain: 2 } })
      await grace.receives(streamId)
      await grace.page.evaluate(
        (id) => (window.v2.subscribers.get(id)?.stream as unknown as FilteredStream | undefined)?.removeFilter(),
        streamId,
      )
      await until('ada has no filter', () =>
        ada.page.evaluate(
          () => (window.v2.publisher?.stream as unknown as FilteredStream | undefined)?.filter === undefined,
        ),
      )
      await grace.receives(streamId)
      expect([await exceptions(ada), await exceptions(grace)]).toEqual([[], []])
    },
    2 * PATIENCE_MS,
  )

  it(
    'gets the events of a filter while it listens',
    async () => {
      const { grace, streamId } = await meeting()
      await grace.page.evaluate(async (id) => {
        const stream = window.v2.subscribers.get(id)?.stream as unknown as FilteredStream
        const filter = await stream.applyFilter('GStreamerFilter', { command: 'meter' })
        await filter.addEventListener('level', ({ type, target, data }) =>
          window.v2.events.push(`${type} of ${target.type}: ${String(data)}`),
        )
      }, streamId)
      await grace.event('level of GStreamerFilter: {')
      await grace.page.evaluate(async (id) => {
        const stream = window.v2.subscribers.get(id)?.stream as unknown as FilteredStream
        await stream.filter?.removeEventListener('level')
        await stream.removeFilter()
      }, streamId)
      await grace.receives(streamId)
      expect(await exceptions(grace)).toEqual([])
    },
    2 * PATIENCE_MS,
  )
})
