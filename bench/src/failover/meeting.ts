import { epochMs, SyntheticParticipant } from '@session-service/synthetic-participant'
import { type Stack, type TestBrowser, until } from '@session-service/testing'
import type { WatcherEvent } from './page/watcher.js'

const PICTURE = { width: 640, height: 360, fps: 25, kbps: 500 }
const TIMEOUT_MS = 30_000

/** A tab of the browser. */
export type Tab = Awaited<ReturnType<TestBrowser['context']['newPage']>>

/** A publisher without a browser, and a tab that shows its stream with the client library. */
export interface Meeting {
  id: string
  publisher: SyntheticParticipant
  page: Tab
}

/** The times of a recovery, ms after the fault. */
export interface Recovery {
  /** The publisher was notified of the loss. */
  notified: number
  /** It has published again. */
  published: number
  /** The tab shows a picture again. */
  picture: number
}

/** Resolves with the first event of the tab after `from`, epoch ms. */
export const eventAfter = (page: Tab, name: WatcherEvent['name'], from: number): Promise<number> =>
  until(
    `the tab reports: ${name}`,
    async () => (await page.evaluate(() => window.happened)).find((each) => each.name === name && each.at > from)?.at,
    TIMEOUT_MS,
  )

/** Opens a meeting and resolves when the tab shows the first picture, with the time from the first join until then. */
export async function meet(
  { api, atMaster }: Stack,
  page: Tab,
  { node, watcherHost }: { node?: string; watcherHost?: string },
): Promise<{ meeting: Meeting; tookMs: number }> {
  const { id } = await api.createSession(node === undefined ? {} : { mediaNode: { id: node } })
  const [mine = '', shown = ''] = (await Promise.all([0, 1].map(() => api.createConnection(id)))).map(
    ({ token }) => token ?? '',
  )
  const watched = new URL(shown)
  if (watcherHost !== undefined) watched.host = watcherHost
  const from = epochMs()
  const [publisher] = await Promise.all([
    SyntheticParticipant.join(atMaster(0, mine)),
    page.evaluate((token) => window.follow(token), watched.href),
  ])
  await publisher.publish(PICTURE)
  return { meeting: { id, publisher, page }, tookMs: (await eventAfter(page, 'picture', from)) - from }
}

/** Injects a fault that costs the session its media, and waits for the media. */
export async function recoveryFrom({ publisher, page }: Meeting, fault: () => void): Promise<Recovery> {
  const before = publisher.mediaRecoveries.length
  const from = epochMs()
  fault()
  const back = await until(
    'the publisher has published again',
    () => publisher.mediaRecoveries.slice(before).find(({ kind }) => kind === 'reconnected'),
    TIMEOUT_MS,
  )
  const notified = publisher.mediaRecoveries[before]?.at ?? Number.NaN
  const picture = await eventAfter(page, 'picture', from)
  return { notified: notified - from, published: back.at - from, picture: picture - from }
}

export async function end({ api }: Stack, { id, publisher, page }: Meeting): Promise<void> {
  await page.evaluate(() => {
    window.unfollow()
    window.happened = []
  })
  await publisher.leave()
  await api.request('DELETE', `/sessions/${id}`)
}
