import { describe, expect, it } from '@jest/globals'
import type { MediaNodeStatus } from '@session-service/contract'
import { loadOf, plan } from './plan.js'
import { type Limits, type Memory, NO_MEMORY, type Plan, type ScaledNode } from './scaling.types.js'

const WINDOW_MS = 300_000
const EVERY_MS = 10_000
const LIMITS: Limits = { minNodes: 1, maxNodes: 8, minLoad: 20, maxLoad: 70, cooldownMs: WINDOW_MS, bootMs: 120_000 }

type NodeTuple = [status: MediaNodeStatus, load?: number, held?: number, canWake?: boolean]
/** Nodes in the order of their launch. */
const nodesOf = (...nodes: NodeTuple[]): ScaledNode[] =>
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

/** The decision about a cluster that has not changed for a whole cool-down. */
function steadyPlan(nodes: ScaledNode[], limits = LIMITS): Plan {
  let memory: Memory = NO_MEMORY
  for (let now = 0; now < WINDOW_MS; now += EVERY_MS) {
    memory = { ...plan({ now, nodes }, limits, memory).memory, addedAt: undefined, removedAt: undefined }
  }
  return plan({ now: WINDOW_MS, nodes }, limits, memory)
}

const described = ({ actions }: Plan): string[] =>
  actions.map((action) => ('node' in action ? `${action.kind} ${action.node.id}` : action.kind))

const RUNNING = 'running'
const WAITING = 'waiting-idle-to-terminate'

it('divides the load of nodes that hold sessions by the nodes that accept sessions, and is 0 without nodes', () => {
  expect(loadOf([])).toEqual({ numNodes: 0, totalLoad: 0, avgLoad: 0 })
  expect(loadOf(nodesOf([WAITING, 40]))).toEqual({ numNodes: 0, totalLoad: 40, avgLoad: 0 })
  const nodes = nodesOf([RUNNING, 50], [WAITING, 40], ['launching'], ['canceled'], ['terminating', 30])
  expect(loadOf(nodes)).toEqual({ numNodes: 2, totalLoad: 90, avgLoad: 45 })
})

describe('the worked examples of the contract', () => {
  it('launch a node at 73.18 % on one node, which reduces the average to 36.59 %', () => {
    const { actions, load, reason } = plan({ now: 0, nodes: nodesOf([RUNNING, 73.18]) }, LIMITS, NO_MEMORY)
    expect(actions).toEqual([{ kind: 'launch' }])
    expect(load).toEqual({ numNodes: 1, totalLoad: 73.18, avgLoad: 73.18 })
    expect(reason).toBe('The average load of 73.18 % is above 70.00 %')
    const after = steadyPlan(nodesOf([RUNNING, 73.18], ['launching']))
    expect(after).toMatchObject({ actions: [], load: { avgLoad: 36.59 } })
  })

  it('terminate the empty one of two nodes at 36.59 %, 18.29 % on average', () => {
    const decided = steadyPlan(nodesOf([RUNNING, 36.59], [RUNNING, 0]))
    expect(described(decided)).toEqual(['terminate n1'])
    expect(decided.load.avgLoad).toBeCloseTo(18.29, 1)
    expect(decided.reason).toMatch(/^The average load of 18\.(29|30) % is below 20\.00 %$/)
  })

  it('change nothing at 75 % with the maximum number of nodes', () => {
    expect(steadyPlan(nodesOf([RUNNING, 75], [RUNNING, 75]), { ...LIMITS, maxNodes: 2 }).actions).toEqual([])
  })
})

it.each<[name: string, nodes: NodeTuple[], actions: string[], limits?: Partial<Limits>]>([
  ['launches a node when there is none', [], ['launch']],
  ['launches nodes up to the minimum number', [[RUNNING, 5]], ['launch', 'launch'], { minNodes: 3 }],
  ['launches none when the minimum number is 0', [], [], { minNodes: 0 }],
  ['launches none at exactly the maximum load', [[RUNNING, 70]], []],
  ['launches a node above the maximum load', [[RUNNING, 70.01]], ['launch']],
  [
    'launches several nodes far above the maximum load',
    [
      [RUNNING, 100],
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    ['launch', 'launch'],
  ],
  ['launches none when a launching node suffices', [[RUNNING, 100], ['launching']], []],
  [
    'wakes a draining node instead of launching one',
    [
      [RUNNING, 80],
      [WAITING, 10],
    ],
    ['wake n1'],
  ],
  [
    'launches a node when the draining one cannot be woken',
    [
      [RUNNING, 80],
      [WAITING, 10, 1, false],
    ],
    ['launch'],
  ],
  [
    'wakes the draining node with the highest load',
    [
      [RUNNING, 80],
      [WAITING, 10],
      [WAITING, 20],
    ],
    ['wake n2'],
  ],
  ['relaunches the oldest canceled node', [[RUNNING, 80], ['canceled'], ['canceled']], ['relaunch n1']],
  [
    'wakes draining nodes before it relaunches canceled ones',
    [[RUNNING, 100], ['canceled'], [WAITING, 99, 9]],
    ['wake n2', 'relaunch n1'],
  ],
  [
    'launches the nodes that neither waking nor relaunching adds',
    [[RUNNING, 0.5], ['canceled'], [WAITING, 9]],
    ['wake n2', 'relaunch n1', 'launch'],
    { minNodes: 4 },
  ],
  [
    'launches nodes up to the maximum number only',
    [
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    ['launch'],
    { maxNodes: 3, maxLoad: 30 },
  ],
  [
    'launches none above the maximum number',
    [
      [RUNNING, 100],
      [RUNNING, 100],
    ],
    [],
    { maxNodes: 1 },
  ],
  [
    'does not count failed, terminating and terminated nodes',
    [[RUNNING, 80], ['failed'], ['terminating'], ['terminated']],
    ['launch'],
  ],
  [
    'drains the less loaded node below the minimum load',
    [
      [RUNNING, 20, 3],
      [RUNNING, 10, 2],
    ],
    ['drain n1'],
  ],
  [
    'cancels a launching node before it removes running ones',
    [[RUNNING, 10], [RUNNING, 0], ['launching']],
    ['cancel n2', 'terminate n1'],
  ],
  [
    'cancels the last of several launches',
    [[RUNNING, 1], ['launching'], ['launching']],
    ['cancel n2'],
    { minNodes: 2 },
  ],
  [
    'removes a node without sessions before one with idle sessions',
    [
      [RUNNING, 0, 4],
      [RUNNING, 5, 0],
      [RUNNING, 50],
    ],
    ['terminate n1', 'drain n0'],
  ],
  [
    'keeps the minimum number of nodes',
    [
      [RUNNING, 1],
      [RUNNING, 1],
    ],
    [],
    { minNodes: 2 },
  ],
  ['never removes the last node', [[RUNNING, 0]], [], { minNodes: 0 }],
  [
    'removes none when the remaining nodes would exceed the maximum load',
    [
      [RUNNING, 45],
      [RUNNING, 45],
    ],
    [],
    { minLoad: 50 },
  ],
  [
    'drains a node within the limits when the others can carry its load',
    [
      [RUNNING, 30],
      [RUNNING, 33],
    ],
    ['drain n0'],
  ],
  [
    'removes none when the remaining nodes would have no reserve',
    [
      [RUNNING, 33],
      [RUNNING, 34],
    ],
    [],
  ],
  ['launches none for a maximum load of 0 without load', [[RUNNING, 0]], [], { maxLoad: 0, minLoad: 0 }],
  [
    'launches the maximum number of nodes for a maximum load of 0 with any load',
    [[RUNNING, 1]],
    ['launch', 'launch'],
    { maxLoad: 0, minLoad: 0, maxNodes: 3 },
  ],
  [
    'removes none for a minimum load of 0',
    [
      [RUNNING, 1],
      [RUNNING, 0],
    ],
    [],
    { minLoad: 0 },
  ],
])('%s', (_, nodes, actions, limits = {}) => {
  expect(described(steadyPlan(nodesOf(...nodes), { ...LIMITS, ...limits }))).toEqual(actions)
})

/** Simulates decisions for a changing load. Launched nodes run after the boot time; removed nodes end at once. */
function simulate(loadAt: (now: number) => number, hours: number, initialNodes = 1) {
  const changes: { at: number; by: number }[] = []
  let memory: Memory = NO_MEMORY
  let nodes = nodesOf(...Array.from({ length: initialNodes }, (): NodeTuple => [RUNNING]))
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

describe('an oscillating load', () => {
  const oscillation = (middle: number, by: number, seconds: number) => (now: number) =>
    middle + by * Math.sin((now / seconds / 1_000) * 2 * Math.PI)

  it.each([20, 70, 180, 420, 900].flatMap((seconds) => [20, 40, 70, 130].map((middle) => [middle, seconds] as const)))(
    'around %i %% with a period of %i s changes the number of nodes at most once per cool-down',
    (middle, seconds) => {
      const { changes } = simulate(oscillation(middle, 9, seconds), 4, Math.ceil(middle / LIMITS.maxLoad))
      for (const [index, { at }] of changes.entries())
        expect(at - (changes[index - 1]?.at ?? -Infinity)).toBeGreaterThanOrEqual(WINDOW_MS)
    },
  )

  it('with random changes around the maximum settles on the nodes that its peaks require', () => {
    let state = 1
    const noise = () => ((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5) * 10
    const { changes, count } = simulate(() => 70 + noise(), 4)
    expect(changes).toHaveLength(1)
    expect(count).toBe(2)
  })
})

describe('a steadily changing load', () => {
  it('launches a node before a rising load reaches the maximum', () => {
    const perMs = 10 / 60_000
    const { changes } = simulate((now) => 20 + now * perMs, 0.1)
    // 70 % is reached after 300 s, a node takes 120 s.
    expect(changes[0]).toMatchObject({ by: 1 })
    expect(changes[0]?.at).toBeLessThanOrEqual(240_000)
    expect(changes[0]?.at).toBeGreaterThan(150_000)
  })

  it('launches none for a rise that draining nodes can carry', () => {
    const nodes = nodesOf([RUNNING, 60], [WAITING, 5])
    let memory: Memory = NO_MEMORY
    for (let now = 0; now < 100_000; now += EVERY_MS) {
      const rising = nodes.map((node) => ({ ...node, load: node.load * (0.8 + now / 500_000) }))
      const decided = plan({ now, nodes: rising }, LIMITS, memory)
      expect(decided.actions).toEqual([])
      memory = decided.memory
    }
  })

  it('removes a node only after the load has been low for a whole cool-down', () => {
    const { changes } = simulate((now) => (now < 600_000 ? 130 : 30), 1, 2)
    expect(changes.map(({ by }) => by)).toEqual([-1])
    expect(changes[0]?.at).toBeGreaterThanOrEqual(600_000 + WINDOW_MS - EVERY_MS)
  })
})

/** Consecutive decisions about the nodes of each view. */
function decideInOrder(views: ScaledNode[][], limits = LIMITS): string[][] {
  let memory: Memory = NO_MEMORY
  return views.map((nodes, nth) => {
    const decided = plan({ now: nth * EVERY_MS, nodes }, limits, memory)
    memory = decided.memory
    return described(decided)
  })
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

describe('the load of lost nodes', () => {
  const three = nodesOf([RUNNING, 60], [RUNNING, 65], [RUNNING, 70])

  it.each([
    [0, []],
    [1, ['launch']],
  ])('is ignored: after the loss of all nodes, a minimum of %i nodes leads to %j', (minNodes, expected) => {
    expect(decideInOrder([...times(12, three), []], { ...LIMITS, minNodes }).at(-1)).toEqual(expected)
  })

  it('is not counted twice when their sessions move to other nodes', () => {
    const left = nodesOf([RUNNING, 98], [RUNNING, 97])
    const more = [...left, ...nodesOf([RUNNING], [RUNNING], ['launching']).slice(2)]
    const decisions = decideInOrder([...times(30, three), left, ...times(11, more)])
    expect(decisions.slice(30)).toEqual([['launch'], ...times(11, [])])
  })

  it('prevents removals of remaining nodes for one cool-down', () => {
    const left = nodesOf([RUNNING, 10], [RUNNING, 10])
    const decisions = decideInOrder([
      ...times(31, nodesOf([RUNNING, 10], [RUNNING, 10], [RUNNING, 60])),
      ...times(32, left),
    ])
    expect(decisions.slice(31, 61)).toEqual(times(30, []))
    expect(decisions.slice(61)).toEqual([['drain n0'], []])
  })

  it('is kept when they deregistered, so that a constant total shows no rise', () => {
    const drained = Array.from({ length: 13 }, (_, nth) => nodesOf([RUNNING, 30 + 2 * nth], [WAITING, 24 - 2 * nth]))
    const decisions = decideInOrder([...drained, ...times(3, nodesOf([RUNNING, 54]))])
    expect(decisions).toEqual(times(16, []))
  })
})

describe('a step of the load', () => {
  it.each([
    [40, 90, 1],
    [20, 100, 1],
    [60, 95, 1],
  ])('from %i to %i %% on one node launches %i node, and no other one while that one starts', (from, to, launches) => {
    const { changes } = simulate((now) => (now < 600_000 ? from : to), 0.3)
    expect(changes.map(({ by }) => by)).toEqual(times(launches, 1))
  })

  it('launches only the nodes that are missing beyond the launches in flight', () => {
    const nodes = nodesOf([RUNNING, 100], [RUNNING, 100], [RUNNING, 90])
    expect(described(plan({ now: 0, nodes }, LIMITS, NO_MEMORY))).toEqual(['launch', 'launch'])
    expect(described(plan({ now: 0, nodes, inFlight: 1 }, LIMITS, NO_MEMORY))).toEqual(['launch'])
    expect(described(plan({ now: 0, nodes, inFlight: 2 }, LIMITS, NO_MEMORY))).toEqual([])
    expect(described(plan({ now: 0, nodes: [], inFlight: 1 }, LIMITS, NO_MEMORY))).toEqual([])
  })
})

it('adds nodes but removes none without samples, right after a change of leader', () => {
  expect(plan({ now: 0, nodes: nodesOf([RUNNING, 1], [RUNNING, 0]) }, LIMITS, NO_MEMORY).actions).toEqual([])
  expect(plan({ now: 0, nodes: nodesOf([RUNNING, 90]) }, LIMITS, NO_MEMORY).actions).toHaveLength(1)
})

it('limits the number of stored samples', () => {
  let memory: Memory = NO_MEMORY
  for (let now = 0; now < 10 * WINDOW_MS; now += EVERY_MS)
    memory = plan({ now, nodes: nodesOf([RUNNING, 30]) }, LIMITS, memory).memory
  expect(memory.samples.length).toBeLessThanOrEqual(WINDOW_MS / EVERY_MS + 2)
})

it('drains an outdated node before emptier ones, and wakes none', () => {
  const nodes = nodesOf([RUNNING, 10], [RUNNING, 0], [RUNNING, 5]).map((node) => ({
    ...node,
    isOutdated: node.id === 'n0',
  }))
  expect(described(steadyPlan(nodes, { ...LIMITS, minNodes: 2 }))).toEqual(['drain n0'])
})
