import { pacer } from '@session-service/synthetic-participant'
import { serveHelper } from '../helper/serve.js'
import { ATTENDEES } from './api.js'
import { attend, type Attendee } from './attendee.js'

let attendees: Attendee[] = []
let published: { streamId: string; publisher: Attendee }[] = []

/** The time that each task takes, when all start at once. */
async function timed<T>(tasks: readonly (() => Promise<T>)[]): Promise<{ results: T[]; ms: number[] }> {
  const ms: number[] = []
  const startedAt = performance.now()
  const results = await Promise.all(
    tasks.map(async (task) => {
      const result = await task()
      ms.push(performance.now() - startedAt)
      return result
    }),
  )
  return { results, ms }
}

const talk = (active: boolean): Promise<unknown> =>
  Promise.all(published.map(({ publisher }) => publisher.setActive(active)))

serveHelper(ATTENDEES, {
  join: async ({ kind, prefix, tokens }) => {
    const { results, ms } = await timed(tokens.map((token) => () => attend(kind, token, prefix)))
    attendees = results
    return { ms }
  },
  publish: async ({ count, kbps }) => {
    for (const publisher of attendees.slice(0, count))
      published.push({ publisher, streamId: await publisher.publish(kbps) })
    await talk(false)
    return {}
  },
  subscribe: async () => {
    const subscribeToAll = (attendee: Attendee) => async () => {
      const others = published.filter(({ publisher }) => publisher !== attendee)
      await Promise.all(others.map(({ streamId }) => attendee.subscribe(streamId)))
    }
    return timed(attendees.map(subscribeToAll))
  },
  talk: async ({ active }) => {
    await talk(active)
    return {}
  },
  count: async () => {
    const tracks = attendees
      .flatMap(({ subscriptions }) => subscriptions)
      .map((subscription) => subscription.stats())
      .flatMap(({ audio, video }) => [audio ?? [], video ?? []].flat())
    const sum = (of: 'packets' | 'lost'): number => tracks.reduce((total, track) => total + track[of], 0)
    return {
      packets: sum('packets'),
      datagrams: attendees.reduce((total, { received }) => total + received, 0),
      lost: sum('lost'),
      missing: tracks.filter((track) => ('keyFrames' in track ? track.keyFrames : track.packets) === 0).length,
      lagMs: pacer.takeWorstLag(),
      open: attendees.filter(({ isConnected }) => isConnected).length,
    }
  },
  leave: async () => {
    await Promise.all(attendees.map((attendee) => attendee.leave()))
    attendees = []
    published = []
    return {}
  },
})
