import { describe, expect, test } from '@jest/globals'
import type { MediaNodeStatus } from '@session-service/contract'
import { loadOf, plan } from './plan.js'
import { type Limits, type Memory, NO_MEMORY, type Plan, type ScaledNode } from './scaling.types.js'

const WINDOW_MS = 300_000
const EVERY_MS = 10_000
const LIMITS: Limits = { minNodes: 1, maxNodes: 8, minLoad: 20, maxLoad: 70, cooldownMs: WINDOW_MS, bootMs: 120_000 }

type Short = [status: MediaNodeStatus, load?: number, held?: number, canWake?: boolean]
/** Node 0 was launched first. */
const nodesOf = (...nodes: Short[]): ScaledNode[] =>
  nodes.map(([status, load = 0, held = load > 0 ? 1 : 0, canWake = true], index) => ({
    id: `n${index}`,
    environmentId: '',
    ip: '',
    status,
    load,
    held,
    launchingTime: index,
    canWake,
  }))

/** The last of the decisions on a cluster that has been like this for a whole window. */
function settled(nodes: ScaledNode[], limits = LIMITS): Plan {
  let memory: Memory = NO_MEMORY
  for (let now = 0; now < WINDOW_MS; now += EVERY_MS) {
    memory = { ...plan({ now, nodes }, limits, memory).memory, addedAt: undefined, removedAt: undefined }
  }
  return plan({ now: WINDOW_MS, nodes }, limits, memory)
}

const inWords = ({ actions }: Plan): string[] =>
  actions.map((action) => ('node' in action ? `${action.kind} ${action.node.id}` : action.kind))

const RUNNING = 'running'
const WAITING = 'waiting-idle-to-terminate'

test('the average is of those that hold sessions over those that take them, and a number without any', () => {
  expect(loadOf([])).toEqual({ numNodes: 0, totalLoad: 0, avgLoad: 0 })
  expect(loadOf(nodesOf([WAITING, 40]))).toEqual({ numNodes: 0, totalLoad: 40, avgLoad: 0 })
  const nodes = nodesOf([RUNNING, 50], [WAITING, 40], ['launching'], ['canceled'], ['terminating', 30])
  expect(loadOf(nodes)).toEqual({ numNodes: 2, totalLoad: 90, avgLoad: 45 })
})

describe("the lineage's worked figures", () => {
  test('73.18 % on one node: one is launched, which brings the average to 36.59 %', () => {
    const { actions, load, reason } = plan({ now: 0, nodes: nodesOf([RUNNING, 73.18]) }, LIMITS, NO_MEMORY)
    expect(actions).toEqual([{ kind: 'launch' }])
    expect(load).toEqual({ numNodes: 1, totalLoad: 73.18, avgLoad: 73.18 })
    expect(reason).toBe('The average load of 73.18 % is above 70.00 %')
    const after = settled(nodesOf([RUNNING, 73.18], ['launching']))
    expect(after).toMatchObject({ actions: [], load: { avgLoad: 36.59 } })
  })

  test('36.59 % on two nodes, 18.29 % on average: the empty one is ended', () => {
    const decided = settled(nodesOf([RUNNING, 36.59], [RUNNING, 0]))
    expect(inWords(decided)).toEqual(['terminate n1'])
    expect(decided.load.avgLoad).toBeCloseTo(18.29, 1)
    expect(decided.reason).toMatch(/^The average load of 18\.(29|30) % is below 20\.00 %$/)
  })

  test('75 % with as many nodes as there may be: nothing', () => {
    expect(settled(nodesOf([RUNNING, 75], [RUNNING, 75]), { ...LIMITS, maxNodes: 2 }).actions).toEqual([])
  })
})

test.each<[name: string, nodes: Short[], actions: string[], limits?: Partial<Limits>]>([
  ['no node at all', [], ['launch']],
  ['fewer than the least', [[RUNNING, 5]], ['launch', 'launch'], { minNodes: 3 }],
  ['none wanted, none there', [], [], { minNodes: 0 }],
  ['exactly the limit', [[RUNNING, 70]], []],
  ['above it', [[RUNNING, 70.01]], ['launch']],
  [
    'far above it',
    [
      [RUNNING, 100],
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    ['launch', 'launch'],
  ],
  ['above it, one under way', [[RUNNING, 100], ['launching']], []],
  [
    'above it, one on its way out',
    [
      [RUNNING, 80],
      [WAITING, 10],
    ],
    ['wake n1'],
  ],
  [
    'one on its way out that cannot come back',
    [
      [RUNNING, 80],
      [WAITING, 10, 1, false],
    ],
    ['launch'],
  ],
  [
    'the fullest of those is woken',
    [
      [RUNNING, 80],
      [WAITING, 10],
      [WAITING, 20],
    ],
    ['wake n2'],
  ],
  ['above it, one canceled', [[RUNNING, 80], ['canceled'], ['canceled']], ['relaunch n1']],
  ['all ways at once, in order', [[RUNNING, 100], ['canceled'], [WAITING, 99, 9]], ['wake n2', 'relaunch n1']],
  [
    'the rest is launched',
    [[RUNNING, 0.5], ['canceled'], [WAITING, 9]],
    ['wake n2', 'relaunch n1', 'launch'],
    { minNodes: 4 },
  ],
  [
    'up to the most',
    [
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    ['launch'],
    { maxNodes: 3, maxLoad: 30 },
  ],
  [
    'more than the most',
    [
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    [],
    { maxNodes: 1 },
  ],
  ['those that fail or go do not count', [[RUNNING, 80], ['failed'], ['terminating'], ['terminated']], ['launch']],
  [
    'below the lowest, a busy node drains',
    [
      [RUNNING, 20, 3],
      [RUNNING, 10, 2],
    ],
    ['drain n1'],
  ],
  [
    'the one that is not there yet goes first',
    [[RUNNING, 10], [RUNNING, 0], ['launching']],
    ['cancel n2', 'terminate n1'],
  ],
  ['of several launches the last', [[RUNNING, 1], ['launching'], ['launching']], ['cancel n2'], { minNodes: 2 }],
  [
    'an empty one before one that only rests',
    [
      [RUNNING, 0, 4],
      [RUNNING, 5, 0],
      [RUNNING, 50],
    ],
    ['terminate n1', 'drain n0'],
  ],
  [
    'not below the least',
    [
      [RUNNING, 1],
      [RUNNING, 1],
    ],
    [],
    { minNodes: 2 },
  ],
  ['never the last', [[RUNNING, 0]], [], { minNodes: 0 }],
  [
    'not when the others would be over the limit',
    [
      [RUNNING, 45],
      [RUNNING, 45],
    ],
    [],
    { minLoad: 50 },
  ],
  [
    'others that can do the work',
    [
      [RUNNING, 30],
      [RUNNING, 33],
    ],
    ['drain n0'],
  ],
  [
    'others that would have nothing to spare',
    [
      [RUNNING, 33],
      [RUNNING, 34],
    ],
    [],
  ],
  ['a limit of 0, and no load', [[RUNNING, 0]], [], { maxLoad: 0, minLoad: 0 }],
  ['a limit of 0, and any load', [[RUNNING, 1]], ['launch', 'launch'], { maxLoad: 0, minLoad: 0, maxNodes: 3 }],
  [
    'a lowest load of 0: nodes stay',
    [
      [RUNNING, 1],
      [RUNNING, 0],
    ],
    [],
    { minLoad: 0 },
  ],
])('%s', (_, nodes, actions, limits = {}) => {
  expect(inWords(settled(nodesOf(...nodes), { ...LIMITS, ...limits }))).toEqual(actions)
})

/** Decides along a load, with nodes that come up after their time and go when they are empty. */
function along(loadAt: (now: number) => number, hours: number, atFirst = 1) {
  const changes: { at: number; by: number }[] = []
  let memory: Memory = NO_MEMORY
  let nodes = nodesOf(...Array.from({ length: atFirst }, (): Short => [RUNNING]))
  for (let now = 0; now < hours * 3_600_000; now += EVERY_MS) {
    nodes = nodes.map((node) =>
      node.status === 'launching' && node.launchingTime + LIMITS.bootMs <= now ? { ...node, status: RUNNING } : node,
    )
    const running = nodes.filter(({ status }) => status === RUNNING)
    const load = Math.min(100, loadAt(now) / running.length)
    nodes = nodes.map((node) => (node.status === RUNNING ? { ...node, load, held: 1 } : node))
    const decided = plan({ now, nodes }, LIMITS, memory)
    memory = decided.memory
    for (const action of decided.actions) {
      changes.push({ at: now, by: ['launch', 'wake', 'relaunch'].includes(action.kind) ? 1 : -1 })
      if (action.kind === 'launch')
        nodes = nodes.concat(nodesOf(['launching']).map((node) => ({ ...node, id: `${now}`, launchingTime: now })))
      else nodes = nodes.filter(({ id }) => id !== action.node.id)
    }
  }
  return { changes, count: nodes.length }
}

describe('a load that swings', () => {
  const swing = (middle: number, by: number, seconds: number) => (now: number) =>
    middle + by * Math.sin((now / seconds / 1_000) * 2 * Math.PI)

  test.each(
    [20, 70, 180, 420, 900].flatMap((seconds) => [20, 40, 70, 130].map((middle) => [middle, seconds] as const)),
  )('K13: around %i %% every %i s changes the number of nodes at most once a window', (middle, seconds) => {
    const { changes } = along(swing(middle, 9, seconds), 4, Math.ceil(middle / LIMITS.maxLoad))
    for (const [index, { at }] of changes.entries())
      expect(at - (changes[index - 1]?.at ?? -Infinity)).toBeGreaterThanOrEqual(WINDOW_MS)
  })

  test('at random around the limit settles with what the tops need', () => {
    let state = 1
    const noise = () => ((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5) * 10
    const { changes, count } = along(() => 70 + noise(), 4)
    expect(changes).toHaveLength(1)
    expect(count).toBe(2)
  })
})

describe('a load that goes one way', () => {
  test('a rise is seen before the limit is passed', () => {
    const perMs = 10 / 60_000
    const { changes } = along((now) => 20 + now * perMs, 0.1)
    // 70 % is reached after 300 s, a node takes 120 s.
    expect(changes[0]).toMatchObject({ by: 1 })
    expect(changes[0]?.at).toBeLessThanOrEqual(240_000)
    expect(changes[0]?.at).toBeGreaterThan(150_000)
  })

  test('a rise that nodes on their way out can carry launches nothing', () => {
    const nodes = nodesOf([RUNNING, 60], [WAITING, 5])
    let memory: Memory = NO_MEMORY
    for (let now = 0; now < 100_000; now += EVERY_MS) {
      const rising = nodes.map((node) => ({ ...node, load: node.load * (0.8 + now / 500_000) }))
      const decided = plan({ now, nodes: rising }, LIMITS, memory)
      expect(decided.actions).toEqual([])
      memory = decided.memory
    }
  })

  test('a fall is followed only when it has lasted', () => {
    const { changes } = along((now) => (now < 600_000 ? 130 : 30), 1, 2)
    expect(changes.map(({ by }) => by)).toEqual([-1])
    expect(changes[0]?.at).toBeGreaterThanOrEqual(600_000 + WINDOW_MS - EVERY_MS)
  })
})

/** Decisions one after the other, each on the nodes given. */
function inTurn(views: ScaledNode[][], limits = LIMITS): string[][] {
  let memory: Memory = NO_MEMORY
  return views.map((nodes, nth) => {
    const decided = plan({ now: nth * EVERY_MS, nodes }, limits, memory)
    memory = decided.memory
    return inWords(decided)
  })
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

describe('the load of nodes that died', () => {
  const three = nodesOf([RUNNING, 60], [RUNNING, 65], [RUNNING, 70])

  test.each([
    [0, []],
    [1, ['launch']],
  ])(
    'is that of no node any more: with at least %i nodes wanted %j follows when all are dead',
    (minNodes, expected) => {
      expect(inTurn([...times(12, three), []], { ...LIMITS, minNodes }).at(-1)).toEqual(expected)
    },
  )

  test('is not counted twice when their sessions go on elsewhere', () => {
    const left = nodesOf([RUNNING, 98], [RUNNING, 97])
    const more = [...left, ...nodesOf([RUNNING], [RUNNING], ['launching']).slice(2)]
    const decisions = inTurn([...times(30, three), left, ...times(11, more)])
    expect(decisions.slice(30)).toEqual([['launch'], ...times(11, [])])
  })

  test('was seen too short ago to take a node away from those that are left', () => {
    const left = nodesOf([RUNNING, 10], [RUNNING, 10])
    const decisions = inTurn([...times(31, nodesOf([RUNNING, 10], [RUNNING, 10], [RUNNING, 60])), ...times(32, left)])
    expect(decisions.slice(31, 61)).toEqual(times(30, []))
    expect(decisions.slice(61)).toEqual([['drain n0'], []])
  })

  test('stays in the picture when they ended in order, so that a total that was steady shows no rise', () => {
    const drained = Array.from({ length: 13 }, (_, nth) => nodesOf([RUNNING, 30 + 2 * nth], [WAITING, 24 - 2 * nth]))
    const decisions = inTurn([...drained, ...times(3, nodesOf([RUNNING, 54]))])
    expect(decisions).toEqual(times(16, []))
  })
})

describe('one step of the load', () => {
  test.each([
    [40, 90, 1],
    [20, 100, 1],
    [60, 95, 1],
  ])('from %i to %i %% on one node launches %i node, and no other one while that is starting', (from, to, launches) => {
    const { changes } = along((now) => (now < 600_000 ? from : to), 0.3)
    expect(changes.map(({ by }) => by)).toEqual(times(launches, 1))
  })

  test('launches what is lacking beyond what is on its way', () => {
    const nodes = nodesOf([RUNNING, 100], [RUNNING, 100], [RUNNING, 90])
    expect(inWords(plan({ now: 0, nodes }, LIMITS, NO_MEMORY))).toEqual(['launch', 'launch'])
    expect(inWords(plan({ now: 0, nodes, inFlight: 1 }, LIMITS, NO_MEMORY))).toEqual(['launch'])
    expect(inWords(plan({ now: 0, nodes, inFlight: 2 }, LIMITS, NO_MEMORY))).toEqual([])
    expect(inWords(plan({ now: 0, nodes: [], inFlight: 1 }, LIMITS, NO_MEMORY))).toEqual([])
  })
})

test('who has just taken over takes nothing away, but adds', () => {
  expect(plan({ now: 0, nodes: nodesOf([RUNNING, 1], [RUNNING, 0]) }, LIMITS, NO_MEMORY).actions).toEqual([])
  expect(plan({ now: 0, nodes: nodesOf([RUNNING, 90]) }, LIMITS, NO_MEMORY).actions).toHaveLength(1)
})

test('what is remembered does not grow without end', () => {
  let memory: Memory = NO_MEMORY
  for (let now = 0; now < 10 * WINDOW_MS; now += EVERY_MS)
    memory = plan({ now, nodes: nodesOf([RUNNING, 30]) }, LIMITS, memory).memory
  expect(memory.samples.length).toBeLessThanOrEqual(WINDOW_MS / EVERY_MS + 2)
})
