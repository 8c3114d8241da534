import type { MediaOptions, SessionSnapshot, StreamInfo } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { OwnState } from './own-state.js'
import { type LegacyNotification, Roster } from './roster.js'

const ME = 'con_me'
const CAMERA = 'str_CAM_aaaa_con_A'
const SCREEN = 'str_SCR_bbbb_con_A'

const connection = (connectionId: string) => {
  return { connectionId, createdAt: 1, role: 'PUBLISHER' as const, clientData: '', serverData: '' }
}
const stream = (streamId: string, options: Partial<MediaOptions> = {}): StreamInfo => ({
  streamId,
  connectionId: 'con_A',
  createdAt: streamId === CAMERA ? 5 : 6,
  mediaOptions: { hasAudio: true, audioActive: true, hasVideo: false, filter: {}, ...options },
})
const snapshot = (connections: string[], streams: StreamInfo[] = []): SessionSnapshot => ({
  connections: [ME, ...connections].map(connection),
  streams,
  mediaEpoch: 1,
})
const rosterOf = (state: SessionSnapshot): Roster => {
  const roster = new Roster(ME)
  roster.join(state)
  return roster
}
const mute = (streamId: string, audioActive: boolean) => {
  const params = { streamId, connectionId: 'con_A', reason: 'publishAudio' as const }
  return { ...params, changedProperty: 'audioActive' as const, newValue: audioActive }
}
const textOf = ({ method, params }: LegacyNotification): string => {
  const { id, connectionId, property, newValue } = params as Record<string, string | undefined>
  return [method.replace('participant', ''), id ?? connectionId, property, newValue].filter(Boolean).join(' ')
}

interface Case {
  /** The state at the time of joining. */
  joined: SessionSnapshot
  /** The notifications that were sent to the client since, perhaps in vain. */
  sent: (roster: Roster) => void
  now: SessionSnapshot
  received?: string
  pings?: number
}

const NOBODY = snapshot([])
const ALICE = snapshot(['con_A'])
const PUBLISHING = snapshot(['con_A'], [stream(CAMERA)])
const join = (roster: Roster): void => void roster.joined(connection('con_A'))
const publish = (roster: Roster): void => void roster.published(stream(CAMERA))
const unpublish = (roster: Roster): void => void roster.unpublished(stream(CAMERA), 'unpublish')
const leave = (roster: Roster): void => void roster.left('con_A', 'disconnect')
const BOTH = snapshot(['con_A'], [stream(CAMERA), stream(SCREEN)])
const MUTED = snapshot(['con_A'], [stream(CAMERA, { audioActive: false })])

describe('a client that may not have received the last frames', () => {
  it.each<[string, Case, string[]]>([
    ['a participant that joined', { joined: NOBODY, sent: join, now: ALICE }, ['Joined con_A']],
    ['one that has left since', { joined: NOBODY, sent: join, now: NOBODY }, ['Left con_A']],
    ['one that left', { joined: PUBLISHING, sent: leave, now: NOBODY }, ['Left con_A']],
    [
      'one that has published since',
      { joined: NOBODY, sent: join, now: PUBLISHING },
      ['Joined con_A', 'Published con_A'],
    ],
    [
      'a stream, with its connection',
      { joined: ALICE, sent: publish, now: PUBLISHING },
      ['Left con_A', 'Joined con_A', 'Published con_A'],
    ],
    ['a stream that has ended since', { joined: ALICE, sent: publish, now: ALICE }, ['Left con_A', 'Joined con_A']],
    ['no stream that it receives', { joined: ALICE, sent: publish, now: PUBLISHING, received: CAMERA }, []],
    ['the end of a stream', { joined: PUBLISHING, sent: unpublish, now: ALICE }, ['Left con_A', 'Joined con_A']],
    [
      'a further stream alone',
      { joined: PUBLISHING, sent: (roster) => void roster.published(stream(SCREEN)), now: BOTH, received: CAMERA },
      ['Left con_A-bbbb', 'Joined con_A-bbbb', 'Published con_A-bbbb'],
    ],
    [
      'the end of a further stream',
      { joined: BOTH, sent: (roster) => void roster.unpublished(stream(SCREEN), 'unpublish'), now: PUBLISHING },
      ['Left con_A-bbbb'],
    ],
    [
      'the present value of a property that was changed twice',
      {
        joined: PUBLISHING,
        sent: (roster) => [false, true].map((isActive) => roster.changed(mute(CAMERA, isActive))),
        now: PUBLISHING,
      },
      ['streamPropertyChanged con_A audioActive true'],
    ],
    [
      'a property that has changed since',
      { joined: PUBLISHING, sent: () => undefined, now: MUTED },
      ['streamPropertyChanged con_A audioActive false'],
    ],
    ['nothing that three pings confirm', { joined: ALICE, sent: publish, now: PUBLISHING, pings: 3 }, []],
    ['what two pings do not confirm', { joined: NOBODY, sent: join, now: ALICE, pings: 2 }, ['Joined con_A']],
  ])('is notified again of %s', (_, { joined, sent, now, received, pings = 0 }, expected) => {
    const roster = rosterOf(joined)
    sent(roster)
    for (let nth = 0; nth < pings; nth += 1) roster.pinged()
    const repair = (): string[] => roster.repair(now, false, (streamId) => streamId === received).map(textOf)
    expect(repair()).toEqual(expected)
    expect(roster.update(now)).toEqual([])
    // The frames on the next socket may be lost as well.
    expect(repair().filter((text) => text.startsWith('Published'))).toEqual(
      expected.filter((text) => text.startsWith('Published')),
    )
  })

  it('is notified of a stream that returns after a loss of the media', () => {
    const roster = rosterOf(ALICE)
    publish(roster)
    expect(roster.repair(ALICE, true, () => false).map(textOf)).toEqual(['Left con_A', 'Joined con_A'])
    expect(roster.published(stream(CAMERA)).map(textOf)).toEqual(['Published con_A'])
  })
})

describe('the own state', () => {
  const recording = { id: 'rec', name: 'name' }
  const stateOf = (): OwnState => {
    const state = new OwnState()
    state.enter({ role: 'PUBLISHER', record: true })
    return state
  }
  const demote = (state: OwnState) => state.rightChanged({ changedProperty: 'role', newValue: 'SUBSCRIBER' })
  const stop = (state: OwnState) => state.recordingStopped({ ...recording, reason: 'recordingStoppedByServer' })

  it('is notified once, and again when it may not have arrived', () => {
    const state = stateOf()
    expect(demote(state)).toEqual([
      { method: 'connectionPropertyChanged', params: { property: 'role', newValue: 'SUBSCRIBER' } },
    ])
    expect(state.rightChanged({ changedProperty: 'record', newValue: true })).toEqual([])
    expect(demote(state)).toEqual([])
    state.doubt()
    expect(demote(state)).toHaveLength(1)
    for (let nth = 0; nth < 3; nth += 1) state.pinged()
    state.doubt()
    expect(demote(state)).toEqual([])
  })

  it('is not notified of the stop of a recording that it does not know, or twice', () => {
    const state = stateOf()
    expect(stop(state)).toEqual([])
    state.recordingStarted(recording)
    expect(stop(state)).toHaveLength(1)
    expect(stop(state)).toEqual([])
  })

  it.each<[string, (state: OwnState) => unknown, (typeof recording)[], string[]]>([
    ['started, and runs', (state) => state.recordingStarted(recording), [recording], ['recordingStarted']],
    ['started, and has stopped since', (state) => state.recordingStarted(recording), [], ['recordingStopped']],
    ['stopped', (state) => [state.recordingStarted(recording), stop(state)], [], ['recordingStopped']],
  ])('has a recording again that %s', (_, sent, running, expected) => {
    const state = stateOf()
    sent(state)
    state.doubt()
    expect(state.update(running).map(({ method }) => method)).toEqual(expected)
    expect(state.update(running)).toEqual([])
  })
})
