import { Heartbeat } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { withLastHeartbeat, type NodeReaction, nextNodeState } from './node-state.js'

type Row = NonNullable<Parameters<typeof nextNodeState>[0]>
const row = (changes: Partial<Row> = {}): Row => ({
  status: 'running',
  bootId: 'boot1',
  disconnectedAt: null,
  drainDeadline: null,
  ip: '10.0.0.1',
  uri: 'ws://10.0.0.1:4000/mediaserver',
  version: '1.0.0',
  environmentId: '',
  ...changes,
})
const beat = (changes: Partial<Heartbeat> = {}): Heartbeat => ({
  ...Heartbeat.parse({
    nodeId: 'a',
    bootId: 'boot1',
    sentAt: 0,
    ip: '10.0.0.1',
    uri: 'ws://10.0.0.1:4000/mediaserver',
    version: '1.0.0',
    status: 'running',
    cpuLoad: 0,
    memoryBytes: 0,
    workers: 1,
    rooms: 0,
    connections: 0,
    streams: 0,
    consumers: 0,
  }),
  ...changes,
})
const waiting = 'waiting-idle-to-terminate'
const restarted = { bootId: 'boot2' }
const lost = { disconnectedAt: 1 }

it.each<[string, Row | undefined, Heartbeat, NodeReaction]>([
  ['registers a new node', undefined, beat(), 'register'],
  ['ignores a node that waits to be added by REST', undefined, beat({ joins: false }), 'none'],
  ['ignores a heartbeat without changes', row(), beat(), 'none'],
  [
    'finishes the launch of a launching node',
    row({ status: 'launching', bootId: null }),
    beat({ joins: false }),
    'finishLaunch',
  ],
  ['ends a canceled node', row({ status: 'canceled', bootId: null }), beat(), 'endCanceled'],
  ['ignores a node whose launch has failed', row({ status: 'failed', bootId: null }), beat(), 'none'],
  ['ignores a late heartbeat of a terminated process', row({ status: 'terminated' }), beat(), 'none'],
  ['registers a new process of a terminated node', row({ status: 'terminated' }), beat(restarted), 'register'],
  [
    'ignores a new process of a terminated node that waits to be added by REST',
    row({ status: 'terminated' }),
    beat({ ...restarted, joins: false }),
    'none',
  ],
  ['detects another process with the id of a running node', row(), beat(restarted), 'foreign'],
  [
    'detects another process with that id that waits to be added by REST',
    row(),
    beat({ ...restarted, joins: false }),
    'foreign',
  ],
  ['detects another process with the id of a lost node', row(lost), beat(restarted), 'foreign'],
  ['recovers a lost node', row(lost), beat(), 'recover'],
  ['recovers a lost node that was draining', row({ ...lost, status: waiting }), beat(), 'recover'],
  ['does not recover a lost node that is terminating', row({ ...lost, status: 'terminating' }), beat(), 'none'],
  ['detects another process with the id of a draining node', row({ status: waiting }), beat(restarted), 'foreign'],
  [
    'detects another process with the id of a terminating node',
    row({ status: 'terminating' }),
    beat(restarted),
    'foreign',
  ],
  ['drains a running node that reports draining', row(), beat({ status: 'draining' }), 'drain'],
  ['ignores a draining node that reports draining', row({ status: waiting }), beat({ status: 'draining' }), 'none'],
  ['ignores a draining node that has not received the command yet', row({ status: waiting }), beat(), 'none'],
  [
    'updates the deadline of a draining node',
    row({ status: waiting }),
    beat({ status: 'draining', drainDeadline: 7 }),
    'updateDetails',
  ],
  [
    'ignores the deadline of a terminating node',
    row({ status: 'terminating' }),
    beat({ status: 'draining', drainDeadline: 7 }),
    'none',
  ],
  ['updates a changed address', row(), beat({ ip: '10.0.0.2' }), 'updateDetails'],
  ['updates a changed environment id', row({ environmentId: 'i-1' }), beat({ environmentId: 'i-2' }), 'updateDetails'],
  ['keeps the environment id that was set by REST', row({ environmentId: 'i-1' }), beat(), 'none'],
])('%s', (_, before, heartbeat, expected) => {
  expect(nextNodeState(before, heartbeat)).toBe(expected)
})

it.each([
  ['later than the one of the row', 'boot1', 1_500, { lastHeartbeatAt: 1_500, heartbeatInterval: 2_000 }],
  ['earlier than the one that another master has written', 'boot1', 500, {}],
  ['of another process', 'boot2', 1_500, {}],
])('a heartbeat that this master has received, %s, gives the last one', (_what, bootId, at, changes) => {
  const read = { bootId: 'boot1', lastHeartbeatAt: 1_000, heartbeatInterval: 500 }
  expect(withLastHeartbeat(read, { nodeId: 'a', bootId, at, everyMs: 2_000 })).toEqual({ ...read, ...changes })
})

it('a row of a node that this master does not hear stays as it is', () => {
  const read = { bootId: null, lastHeartbeatAt: 1_000, heartbeatInterval: 500 }
  expect(withLastHeartbeat(read, undefined)).toBe(read)
})
