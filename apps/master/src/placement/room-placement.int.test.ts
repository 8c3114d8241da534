import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { ServiceError } from '@session-service/contract'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import type { NodeSelection } from './node-selection.service.js'
import type { LostMediaRepository } from './lost-media.repository.js'
import { RoomPlacement } from './room-placement.js'
import { REFUSED, SessionMediaRepository } from './session-media.repository.js'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { insertSession } from '../sessions/fixtures/rows.js'

const NORTH = { nodeId: 'north', bootId: 'boot' }
const SOUTH = { nodeId: 'south', bootId: 'boot' }

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let media: SessionMediaRepository

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  media = new SessionMediaRepository(dataSource)
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM session')
  await database.query('DELETE FROM media_node')
  await insertSession(database, 'ses')
  await database.query(
    `INSERT INTO media_node (id, status, launching_time) SELECT id, 'running', 1 FROM unnest(ARRAY['north', 'south']) AS id`,
  )
})

const becomes = (id: string, status: string) =>
  database.query('UPDATE media_node SET status = $2 WHERE id = $1', [id, status])

describe('a session without a media node', () => {
  it('is assigned to a running or unregistered node; one of many concurrent assignments is stored', async () => {
    const places = await Promise.all(
      Array.from({ length: 10 }, (_, nth) => media.assign('ses_1', nth % 2 === 0 ? NORTH : SOUTH)),
    )
    const [first] = places
    expect(places).toEqual(Array.from(places, () => first))
    expect(first).toMatchObject({ epoch: 1 })
    await database.query('UPDATE session SET media_node_id = NULL, media_node_boot_id = NULL')
    expect(await media.assign('ses_1', { nodeId: 'new', bootId: 'boot' })).toMatchObject({ nodeId: 'new', epoch: 2 })
    expect(await media.assign('gone_1', NORTH)).toBeUndefined()
  })

  it.each(['waiting-idle-to-terminate', 'terminating', 'terminated'])(
    'is not assigned to a node that is %s',
    async (status) => {
      await becomes('north', status)
      expect(await media.assign('ses_1', NORTH)).toBe(REFUSED)
      expect(await media.place('ses_1')).toBeUndefined()
      const place = await media.assign('ses_1', SOUTH)
      await becomes('south', status)
      expect(await media.assign('ses_1', NORTH)).toEqual(place)
    },
  )

  it('waits for a concurrent transaction that terminates the node', async () => {
    const other = dataSource.createQueryRunner()
    await other.startTransaction()
    try {
      await other.query(`SELECT 1 FROM media_node WHERE id = 'north' FOR UPDATE`)
      await other.query(`UPDATE media_node SET status = 'terminating' WHERE id = 'north'`)
      const assigned = media.assign('ses_1', NORTH)
      await untilLocked('the assignment waits for the lock', database, (waiting) => waiting === 1)
      await other.commitTransaction()
      expect(await assigned).toBe(REFUSED)
    } finally {
      await other.release()
    }
  })
})

describe('a participant that joins', () => {
  const participant = { roomId: 'ses_1', connectionId: 'con', forcedNodeId: null }
  const withdrawn: unknown[] = []
  const noLostMedia = {} as unknown as LostMediaRepository
  /** The selection of a master with outdated rows of the nodes. */
  const selection = {
    choose: (_forced: string | undefined, refused: ReadonlySet<string>) => {
      const node = [NORTH, SOUTH].find(({ nodeId }) => !refused.has(nodeId))
      if (!node) throw new ServiceError('NO_CAPACITY', 'there is none')
      return node
    },
    withdraw: (node: unknown) => withdrawn.push(node),
  } as unknown as NodeSelection

  it('is placed on another node when the selected one is terminating', async () => {
    await becomes('north', 'terminating')
    const placement = new RoomPlacement(media, noLostMedia, selection)
    expect(await placement.of(participant, new Set())).toEqual({ place: { ...SOUTH, epoch: 1 }, isNew: true })
    expect(withdrawn).toEqual([NORTH])
  })

  it('is rejected with NO_CAPACITY when all nodes are terminating', async () => {
    await becomes('north', 'terminating')
    await becomes('south', 'terminating')
    const placement = new RoomPlacement(media, noLostMedia, selection)
    await expect(placement.of(participant, new Set())).rejects.toMatchObject({ code: 'NO_CAPACITY' })
  })
})
