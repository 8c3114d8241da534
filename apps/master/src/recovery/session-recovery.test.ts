import { until } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import type { CameraRestarts } from '../ip-cameras/camera-restarts.service.js'
import type { PlacedRoom } from '../media-nodes/room-place.js'
import type { LostMediaRepository } from '../placement/lost-media.repository.js'
import type { SessionMediaRepository } from '../placement/session-media.repository.js'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import type { SessionsService } from '../sessions/sessions.service.js'
import { SessionRecovery, spreadOf } from './session-recovery.service.js'

it.each([
  [0, 0],
  [1, 0],
  [8, 0],
  [9, 135],
  [200, 3_000],
  [10_000, 3_000],
])('spreads the reconnects of %d clients over %d ms', (participants, expected) => {
  expect(spreadOf(participants)).toBe(expected)
})

describe('the sessions of a failed media node', () => {
  const ROOMS = Array.from({ length: 120 }, (_, nth): PlacedRoom => {
    return { roomId: `room_${nth}`, place: { nodeId: 'north', bootId: 'boot', epoch: 1 } }
  })

  /** `lose` clears the placements of several rooms, or of one; each has `size` participants. Records the batches, and the rooms whose clients are notified. */
  function recoveryWith(lose: (rooms: readonly PlacedRoom[]) => Promise<PlacedRoom[]>, size = 2) {
    const [batches, notified, cameras]: [number[], string[], string[]] = [[], [], []]
    const lostMedia = {
      lose: (rooms: readonly PlacedRoom[]) => {
        batches.push(rooms.length)
        return lose(rooms)
      },
    }
    const recovery = new SessionRecovery(
      {} as unknown as SessionsService,
      {
        participantsIn: (ids: string[]) => Promise.resolve(new Map(ids.map((id) => [id, size]))),
      } as unknown as SessionMediaRepository,
      lostMedia as unknown as LostMediaRepository,
      { mediaLost: (roomId: string) => notified.push(roomId) } as unknown as SessionBroadcast,
      { restartSoon: (roomIds: string[]) => cameras.push(...roomIds) } as unknown as CameraRestarts,
      { SERVICE_PRO_SESSION_RECOVERY: true } as MasterConfig,
    )
    return { batches, notified, cameras, recover: () => recovery.mediaLost(ROOMS, { reason: 'nodeCrashed' }) }
  }
  const idsOf = (rooms: readonly PlacedRoom[]): string[] => rooms.map(({ roomId }) => roomId)

  it('end as many at once as one transaction deletes, when recovery is off', async () => {
    const ended: string[] = []
    const { promise: isDeleted, resolve: release } = Promise.withResolvers<void>()
    const sessions = {
      closeWithMedia: ({ roomId }: PlacedRoom, ...rest: unknown[]) => {
        expect(rest).toEqual(['nodeCrashed', 'evt_crash'])
        ended.push(roomId)
        return isDeleted
      },
    }
    const recovery = new SessionRecovery(
      sessions as unknown as SessionsService,
      { participantsIn: () => Promise.resolve(new Map()) } as unknown as SessionMediaRepository,
      {} as unknown as LostMediaRepository,
      {} as unknown as SessionBroadcast,
      {} as unknown as CameraRestarts,
      { SERVICE_PRO_SESSION_RECOVERY: false } as MasterConfig,
    )
    const isOver = recovery.mediaLost(ROOMS, { reason: 'nodeCrashed', afterEventId: 'evt_crash' })
    await until('fifty end', () => ended.length === 50)
    release()
    await isOver
    expect(ended.toSorted()).toEqual(idsOf(ROOMS).toSorted())
  })

  it('are cleared together, and their clients notified once', async () => {
    const { batches, notified, cameras, recover } = recoveryWith((rooms) => Promise.resolve([...rooms]))
    await recover()
    expect(batches).toEqual([50, 50, 20])
    expect(notified).toEqual(idsOf(ROOMS))
    expect(cameras).toEqual(idsOf(ROOMS))
  })

  it.each([
    [30, Array.from({ length: 40 }, () => 3)],
    [300, Array.from({ length: 120 }, () => 1)],
  ])('with %d participants each are cleared together up to a hundred participants', async (size, expected) => {
    const { batches, notified, recover } = recoveryWith((rooms) => Promise.resolve([...rooms]), size)
    await recover()
    expect(batches).toEqual(expected)
    expect(notified.toSorted()).toEqual(idsOf(ROOMS).toSorted())
  })

  it('are cleared one by one when they are locked; those that were placed again stay', async () => {
    const { batches, notified, recover } = recoveryWith((rooms) =>
      Promise.resolve(rooms.filter(({ roomId }) => roomId !== 'room_8' && (rooms.length === 1 || roomId !== 'room_7'))),
    )
    await recover()
    // The remaining ones of the first batch are not behind the last batch.
    expect(batches.slice(0, 2)).toEqual([50, 50])
    expect(batches.slice(2).toSorted()).toEqual([1, 1, 20])
    expect(batches.at(-1)).toBe(20)
    expect(notified.toSorted()).toEqual(
      idsOf(ROOMS)
        .filter((id) => id !== 'room_8')
        .toSorted(),
    )
  })

  it('are cleared one by one after a failure, and one that fails again is reported after the others', async () => {
    const { notified, recover } = recoveryWith((rooms) => {
      const fails = rooms.some(({ roomId }) => roomId === 'room_60')
      return fails ? Promise.reject(new Error('no such room_60')) : Promise.resolve([...rooms])
    })
    await expect(recover()).rejects.toThrow('room_60')
    expect(notified.toSorted()).toEqual(
      idsOf(ROOMS)
        .filter((id) => id !== 'room_60')
        .toSorted(),
    )
  })
})
