/** @quiet @light A delay of this process, which sends the packets, is jitter. */
import { startStack, SyntheticParticipant, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

interface Change {
  connectionId: string
  newValue: number
  oldValue?: number
}

let stack: Stack

beforeAll(async () => {
  stack = await startStack({
    masters: 2,
    masterEnv: {
      SERVICE_PRO_NETWORK_QUALITY: 'true',
      SERVICE_PRO_NETWORK_QUALITY_INTERVAL: '1',
      SERVICE_HISTORY: 'true',
    },
  })
})
afterAll(() => stack.stop())

const changesSeen = ({ events }: SyntheticParticipant): Change[] =>
  events.flatMap(({ method, params }) => (method === 'networkQualityLevelChanged' ? [params] : []))
const levelsSeen = (participant: SyntheticParticipant): number[] =>
  changesSeen(participant).map(({ newValue }) => newValue)

describe('the network quality of a publisher', () => {
  it('follows the losses of its uplink, and participants at all masters are notified of each change', async () => {
    const { id } = await stack.api.createSession()
    const tokens = await Promise.all([0, 1, 2].map(() => stack.api.createConnection(id)))
    const uplink = { lossRate: 0 }
    const publisher = await SyntheticParticipant.join(tokens[0]?.token ?? '', { uplink })
    const watcher = await SyntheticParticipant.join(stack.atMaster(1, tokens[1]?.token ?? null))
    const { connectionId } = publisher
    await publisher.publish({ audio: true, video: true, kbps: 600 })
    for (const [lossRate, level] of [
      [0, 5],
      [0.05, 3],
      [0.2, 1],
      [0, 5],
      [1, 0],
      [0.05, 3],
    ] as const) {
      uplink.lossRate = lossRate
      await until(`level ${level} with a loss of ${lossRate}`, () => levelsSeen(watcher).at(-1) === level)
    }
    const changes = changesSeen(watcher)
    expect(changes[0]).toEqual({ connectionId, newValue: expect.any(Number) })
    expect(new Set(changes.map(({ connectionId: each }) => each))).toEqual(new Set([connectionId]))
    // Each change continues the one before. An interval in which the loss changes may have a level of its own.
    expect(changes.slice(1).map(({ oldValue }) => oldValue)).toEqual(levelsSeen(watcher).slice(0, -1))
    expect(changes.filter(({ newValue, oldValue }) => newValue === oldValue)).toEqual([])
    await until('the publisher is notified of its own network', () => changesSeen(publisher).length === changes.length)
    expect(changesSeen(publisher)).toEqual(changes)
    const late = await SyntheticParticipant.join(tokens[2]?.token ?? '')
    const present = late.joined.snapshot.connections.map((connection) => [
      connection.connectionId,
      connection.networkQuality,
    ])
    expect(Object.fromEntries(present)).toMatchObject({ [connectionId]: 3, [watcher.connectionId]: undefined })
    await Promise.all([publisher, watcher, late].map((each) => each.leave()))
    const ended = await until('the session is in the history', async () => {
      const { content } = await stack.api.listEndedSessions({ session: id })
      return content[0]
    })
    expect(ended).toMatchObject({ reason: 'lastParticipantLeft', numberOfConnections: 3 })
    expect(ended.mediaNodeId).toMatch(/^media_/)
    const { users } = await stack.api.getEndedSession(ended.uniqueSessionId)
    const connections = users.content.flatMap(({ connections: { content } }) => content)
    const past = connections.find((each) => each.connectionId === connectionId)
    expect(past?.publishers.content).toMatchObject([{ audioEnabled: true, videoEnabled: true, reason: 'disconnect' }])
    const levels = past?.networkQuality.content.map(({ newValue, oldValue }) => ({ newValue, oldValue }))
    expect(levels).toEqual(changes.map(({ newValue, oldValue }) => ({ newValue, oldValue })))
  })
})
