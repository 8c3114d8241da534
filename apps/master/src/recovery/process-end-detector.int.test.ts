import { type AppProcess, EventSink, FaultRig, freeze, thaw, until, webhookEnv } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { ENTERED, nodeEvents } from '../media-nodes/fixtures/node-events.js'

const TIMEOUT_MS = 60_000
jest.setTimeout(3 * TIMEOUT_MS)
const ALIVE = 'has lost its connection to the bus'

let rig: FaultRig
let sink: EventSink
beforeAll(async () => {
  sink = await EventSink.open()
  rig = await FaultRig.open({ masters: 2, nodes: 0, masterEnv: webhookEnv(sink) })
})
afterAll(async () => {
  await rig.close()
  await sink.close()
})

let count = 0
/** A new media node that both masters have reached on its port. */
async function addNode(): Promise<{ node: AppProcess; id: string; wire: string }> {
  const id = `departing-${++count}`
  const node = await rig.stack.addNode({ MEDIA_NODE_ID: id })
  await until(`${id} is registered`, () => eventsOf(id).length === ENTERED.length, TIMEOUT_MS)
  await until('both masters have reached it', async () => (await reached()) >= 2 * up(), TIMEOUT_MS)
  return { node, id, wire: `node${count}` }
}
const up = (): number => rig.stack.nodes.filter(({ running }) => running).length
const eventsOf = (id: string): string[] => nodeEvents(sink, id)

async function metric(pattern: RegExp): Promise<number> {
  const texts = await Promise.all(
    rig.stack.masters.map(async ({ opsUrl }) => (await fetch(`${opsUrl}/metrics`)).text()),
  )
  return texts.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0)
}
const reached = (): Promise<number> => metric(/media_nodes_reached(?:\{[^}]*\})? (\d+)/)
const lost = async (): Promise<{ end: number; silence: number }> => ({
  end: await metric(/media_nodes_lost_total\{detected_by="end"\} (\d+)/),
  silence: await metric(/media_nodes_lost_total\{detected_by="silence"\} (\d+)/),
})
const linesAbout = (id: string): number =>
  rig.stack.journal.lines.filter((line) => line.includes(id) && line.includes(ALIVE)).length
const examinedByBoth = (id: string, before = 0): Promise<unknown> =>
  until('both masters have examined the ended connection', () => linesAbout(id) >= before + 2, TIMEOUT_MS)

describe('a media node', () => {
  it('is lost at the end of its process, once over both masters, without a wait for the silent window', () =>
    rig.run('ended process', async ({ exempt, figure, mark, since }) => {
      const before = await lost()
      const { node, id } = await addNode()
      exempt(node)
      mark()
      node.kill('SIGKILL')
      await until('the crash is posted', () => eventsOf(id).includes('nodeCrashed'), TIMEOUT_MS)
      figure('crash posted after ms', since())
      expect(await lost()).toEqual({ ...before, end: before.end + 1 })
      expect(eventsOf(id)).toEqual([...ENTERED, 'nodeCrashed'])
      await rig.stack.revive(node)
      await until('the recovery is posted', () => eventsOf(id).at(-1) === 'nodeRecovered', TIMEOUT_MS)
    }))

  it('is not lost when its connection to the bus is cut and its process lives', () =>
    rig.run('cut connection', async () => {
      const before = await lost()
      const { id, wire } = await addNode()
      rig.wire(wire, 'nats').mode = 'reset'
      rig.wire(wire, 'nats').mode = 'pass'
      await examinedByBoth(id)
      expect(await rig.stack.api.getMediaNode(id)).toMatchObject({ connected: true })
      expect([await lost(), eventsOf(id)]).toEqual([before, ENTERED])
    }))

  it('is lost after the silent window when its connection to the bus stays cut', () =>
    rig.run('connection that stays cut', async () => {
      const before = await lost()
      const { id, wire } = await addNode()
      rig.wire(wire, 'nats').mode = 'reset'
      try {
        await examinedByBoth(id)
        expect([await lost(), eventsOf(id)]).toEqual([before, ENTERED])
        await until('the crash is posted', () => eventsOf(id).includes('nodeCrashed'), TIMEOUT_MS)
      } finally {
        rig.wire(wire, 'nats').mode = 'pass'
      }
      expect(await lost()).toEqual({ ...before, silence: before.silence + 1 })
      await until('the recovery is posted', () => eventsOf(id).at(-1) === 'nodeRecovered', TIMEOUT_MS)
    }))

  it('is not lost when its process is frozen for a second, with or without its connection', () =>
    rig.run('short freeze', async ({ exempt }) => {
      const before = await lost()
      const { node, id, wire } = await addNode()
      exempt(node)
      for (const isCut of [false, true]) {
        freeze(node)
        try {
          if (isCut) rig.wire(wire, 'nats').mode = 'reset'
          rig.wire(wire, 'nats').mode = 'pass'
          // No condition to wait for: nothing must happen while the process is frozen.
          await new Promise((resolve) => setTimeout(resolve, 1_000))
        } finally {
          thaw(node)
        }
        if (isCut) await examinedByBoth(id)
        await rig.becomes('ready', node, '/readyz', 200)
        expect([await lost(), eventsOf(id)]).toEqual([before, ENTERED])
      }
    }))

  it('is not lost when the bus server ends in order or is killed, and starts again', () =>
    rig.run('restarted bus server', async () => {
      const { id } = await addNode()
      const before = await lost()
      const known = eventsOf(id).length
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        rig.stack.nats.kill(signal)
        await rig.stack.nats.restart()
        await until('it has registered again', async () => {
          const { body } = await rig.stack.rest('GET', `/media-nodes/${id}`)
          return (body as { connected?: boolean }).connected === true
        })
        for (const master of rig.stack.masters) await rig.becomes('ready', master, '/readyz', 200)
        await rig.becomes('ready', rig.stack.nodes.at(-1) ?? rig.node(), '/readyz', 200)
        expect([await lost(), eventsOf(id)]).toEqual([before, ENTERED.slice(0, known)])
      }
    }))
})
