import { describe, expect, it } from '@jest/globals'
import { NODE_SILENT_MS, ServiceError, type NodeFactAnswer } from '@session-service/contract'
import { startNats, until, type AppProcess } from '@session-service/local-stack'
import { BusMaster } from '../fixtures/bus-master.js'
import { metricOf, NodeRig } from '../fixtures/node-rig.js'

const rig = NodeRig.forTests()

const passed = (ms: number): Promise<boolean> => {
  const since = Date.now()
  return until(`${ms} ms have passed`, () => Date.now() - since > ms)
}

/** Resolves with the time of the resume, UTC ms. */
async function freeze(process: Pick<AppProcess, 'kill'>, ms: number): Promise<number> {
  process.kill('SIGSTOP')
  await passed(ms)
  const thawedAt = Date.now()
  process.kill('SIGCONT')
  return thawedAt
}

const roomIdsOf = async (nodeId: string): Promise<string[]> =>
  (await rig.master.ask(nodeId, 'inventory', {})).rooms.map(({ roomId }) => roomId)

describe('a node that was suspended', () => {
  it('longer than masters wait registers before anything else, and closes the rooms that it has lost', async () => {
    const { node, nodeId } = await rig.launchReady()
    for (const roomId of ['kept', 'stray']) await rig.master.join(nodeId, roomId, 'con')
    await until('the first hello', () => rig.master.factsOf(nodeId, 'hello').length === 1)
    let thawedAt = Number.POSITIVE_INFINITY
    const heardBetween = (): number =>
      rig.master.heartbeats.filter((beat) => beat.nodeId === nodeId && beat.sentAt >= thawedAt).length
    let mayAnswer = false
    const early: number[] = []
    rig.master.onFact = (): NodeFactAnswer => {
      early.push(heardBetween())
      if (!mayAnswer) throw new ServiceError('UNAVAILABLE', 'the database is away')
      return { dropRoomIds: ['stray'] }
    }
    node.kill('SIGSTOP')
    // Commands in its socket buffer are as old as its rooms.
    const late = rig.master.join(nodeId, 'late', 'con', { timeoutMs: 30_000 }).catch((error: unknown) => error)
    await passed(NODE_SILENT_MS + 500)
    thawedAt = Date.now()
    node.kill('SIGCONT')
    expect(await late).toMatchObject({ code: 'UNAVAILABLE' })
    await until('the hello is repeated', () => early.length >= 2)
    await expect(rig.master.ask(nodeId, 'inventory', {})).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await metricOf(node, 'fenced')).toBe(1)
    mayAnswer = true
    await until('it is heard again', () => heardBetween() > 0)
    expect(early.filter((count) => count > 0)).toEqual([])
    expect(await roomIdsOf(nodeId)).toEqual(['kept'])
    expect(rig.master.lastHeartbeatOf(nodeId)).toMatchObject({ status: 'running', rooms: 1 })
    expect(await metricOf(node, 'fenced')).toBe(0)
    const hellos = new Set(rig.master.factsOf(nodeId, 'hello').map(({ factId }) => factId))
    expect(hellos.size).toBe(2)
  })

  it('briefly continues without registering again', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    const hellos = (): number => rig.master.factsOf(nodeId, 'hello').length
    // A busy machine may delay the node for longer than the suspension: only a short silence is conclusive.
    const [before, after] = await until(
      'a freeze was short enough',
      async () => {
        const [hellosBefore, lastBeat] = [hellos(), rig.master.lastHeartbeatOf(nodeId)!.sentAt]
        const thawedAt = await freeze(node, 1_000)
        const next = await until('it is heard again', () =>
          rig.master.heartbeats.find((beat) => beat.nodeId === nodeId && beat.sentAt >= thawedAt),
        )
        return next.sentAt - lastBeat < NODE_SILENT_MS - 1_000 ? [hellosBefore, hellos()] : undefined
      },
      60_000,
    )
    expect(after).toBe(before)
    expect(await roomIdsOf(nodeId)).toEqual(['room'])
  })
})

describe('a node whose bus was suspended', () => {
  it('registers when the bus answers again, before it accepts commands', async () => {
    const bus = await startNats()
    const ownMaster = await BusMaster.connect(bus.url, { pingIntervalMs: 500 })
    try {
      const { node, nodeId } = await rig.launchReady({ NATS_URL: bus.url }, ownMaster)
      await ownMaster.join(nodeId, 'stray', 'con')
      ownMaster.onFact = () => ({ dropRoomIds: ['stray'] })
      bus.process.kill('SIGSTOP')
      await until('it knows that it is out of touch', async () => (await metricOf(node, 'fenced')) === 1)
      expect(await metricOf(node, 'media_rooms')).toBe(1)
      bus.process.kill('SIGCONT')
      await until('the fence is open', async () => (await metricOf(node, 'fenced')) === 0)
      expect(await metricOf(node, 'media_rooms')).toBe(0)
      expect(ownMaster.factsOf(nodeId, 'hello').at(-1)?.rooms).toEqual(expect.any(Array))
    } finally {
      await ownMaster.bus.close()
      await bus.stop()
    }
  })
})
