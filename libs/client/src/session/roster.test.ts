import { describe, expect, it } from '@jest/globals'
import { connectionInfo, streamInfo } from '../fixtures/samples.js'
import { Roster, type RosterEvent } from './roster.js'

const own = connectionInfo('con_own')
const names = (events: RosterEvent[]): string[] => events.map(({ name }) => name)
const filled = (): Roster => {
  const roster = new Roster(own)
  roster.applySnapshot({ connections: [own, connectionInfo('con_b')], streams: [streamInfo('str_b', 'con_b')] })
  return roster
}

describe('Roster', () => {
  it('contains the own connection from the start and never announces its end', () => {
    const roster = new Roster(own)
    expect(roster.own.local).toBe(true)
    expect(roster.apply({ method: 'connectionCreated', params: own })).toEqual([])
    expect(
      roster.apply({ method: 'connectionDestroyed', params: { connectionId: 'con_own', reason: 'disconnect' } }),
    ).toEqual([])
  })

  it('yields each event once when the server reports it twice', () => {
    const roster = filled()
    const ended = { streamId: 'str_b', connectionId: 'con_b', reason: 'unpublish' } as const
    expect(names(roster.apply({ method: 'streamDestroyed', params: ended }))).toEqual(['streamDestroyed'])
    expect(roster.apply({ method: 'streamDestroyed', params: ended })).toEqual([])
    expect(roster.apply({ method: 'connectionCreated', params: connectionInfo('con_b') })).toEqual([])
  })

  it('ends the streams of a connection before the connection, with its reason', () => {
    const roster = filled()
    const events = roster.apply({
      method: 'connectionDestroyed',
      params: { connectionId: 'con_b', reason: 'networkDisconnect' },
    })
    expect(names(events)).toEqual(['streamDestroyed', 'connectionDestroyed'])
    expect(events.map(({ event }) => 'reason' in event && event.reason)).toEqual(Array(2).fill('networkDisconnect'))
    expect(roster.streams.size).toBe(0)
  })

  it('ignores the stream of an unknown connection', () => {
    expect(new Roster(own).apply({ method: 'streamCreated', params: streamInfo('str_x', 'con_x') })).toEqual([])
  })

  it('updates streams and yields old and new values of the public interface', () => {
    const roster = filled()
    const params = {
      streamId: 'str_b',
      connectionId: 'con_b',
      changedProperty: 'videoDimensions',
      newValue: '{"width":480,"height":640}',
      reason: 'deviceRotated',
    } as const
    const [event] = roster.apply({ method: 'streamPropertyChanged', params })
    expect(event?.event).toMatchObject({
      oldValue: { width: 640, height: 480 },
      newValue: { width: 480, height: 640 },
      reason: 'deviceRotated',
    })
    expect(roster.streams.get('str_b')?.videoDimensions).toEqual({ width: 480, height: 640 })
    expect(roster.apply({ method: 'streamPropertyChanged', params })).toEqual([])
  })

  it('yields a change of the own role once', () => {
    const roster = new Roster(own)
    const params = { connectionId: 'con_own', changedProperty: 'role', newValue: 'MODERATOR' } as const
    const [event] = roster.apply({ method: 'connectionPropertyChanged', params })
    expect(event?.event).toMatchObject({ newValue: 'MODERATOR', oldValue: 'PUBLISHER' })
    expect(roster.own.role).toBe('MODERATOR')
    expect(roster.apply({ method: 'connectionPropertyChanged', params })).toEqual([])
  })

  it('equals a snapshot after applying it', () => {
    const roster = filled()
    const snapshot = {
      connections: [own, connectionInfo('con_c', { role: 'SUBSCRIBER' })],
      streams: [streamInfo('str_c', 'con_c', { audioActive: false })],
    }
    expect(names(roster.applySnapshot(snapshot))).toEqual([
      'streamDestroyed',
      'connectionDestroyed',
      'connectionCreated',
      'streamCreated',
    ])
    expect(roster.snapshot()).toEqual(snapshot)
    expect(roster.applySnapshot(snapshot)).toEqual([])
  })

  it('joins the data of a connection', () => {
    const data = (clientData: string, serverData: string): string =>
      new Roster(connectionInfo('con_own', { clientData, serverData })).own.data
    expect([data('a', 'b'), data('a', ''), data('', 'b'), data('', '')]).toEqual(['a%/%b', 'a', 'b', ''])
  })
})
