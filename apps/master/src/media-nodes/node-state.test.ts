import { Heartbeat } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { type NodeReaction, nextNodeState } from './node-state.js'

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
const anew = { bootId: 'boot2' }
const lost = { disconnectedAt: 1 }

it.each<[string, Row | undefined, Heartbeat, NodeReaction]>([
  ['one that is new enters', undefined, beat(), 'enter'],
  ['one that waits to be added does not', undefined, beat({ joins: false }), 'none'],
  ['as it was', row(), beat(), 'none'],
  ['its launch is over', row({ status: 'launching', bootId: null }), beat({ joins: false }), 'arrive'],
  ['not wanted any more', row({ status: 'canceled', bootId: null }), beat(), 'rollbackJoin'],
  ['too late', row({ status: 'failed', bootId: null }), beat(), 'none'],
  ['the end of one that has gone', row({ status: 'terminated' }), beat(), 'none'],
  ['a new process of one that has gone', row({ status: 'terminated' }), beat(anew), 'enter'],
  ['the same, waiting to be added', row({ status: 'terminated' }), beat({ ...anew, joins: false }), 'none'],
  ['another process with the id of a running node', row(), beat(anew), 'foreign'],
  ['another process that waits to be added, with that id', row(), beat({ ...anew, joins: false }), 'foreign'],
  ['another process with the id of a lost node', row(lost), beat(anew), 'foreign'],
  ['back after a freeze', row(lost), beat(), 'recover'],
  ['back while it was on its way out', row({ ...lost, status: waiting }), beat(), 'recover'],
  ['back when it should have gone', row({ ...lost, status: 'terminating' }), beat(), 'none'],
  ['another process with the id of a draining node', row({ status: waiting }), beat(anew), 'foreign'],
  ['another process with the id of a terminating node', row({ status: 'terminating' }), beat(anew), 'foreign'],
  ['takes no more', row(), beat({ status: 'draining' }), 'quarantine'],
  ['takes no more, as is known', row({ status: waiting }), beat({ status: 'draining' }), 'none'],
  ['an order has not reached it', row({ status: waiting }), beat(), 'none'],
  ['with another deadline', row({ status: waiting }), beat({ status: 'draining', drainDeadline: 7 }), 'note'],
  ['about to end', row({ status: 'terminating' }), beat({ status: 'draining', drainDeadline: 7 }), 'none'],
  ['another address', row(), beat({ ip: '10.0.0.2' }), 'note'],
  ['another name', row({ environmentId: 'i-1' }), beat({ environmentId: 'i-2' }), 'note'],
  ['the name an operator gave it', row({ environmentId: 'i-1' }), beat(), 'none'],
])('%s', (_, before, said, expected) => {
  expect(nextNodeState(before, said)).toBe(expected)
})
