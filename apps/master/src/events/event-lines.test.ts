import { expect, it } from '@jest/globals'
import type { EventDraft } from './event-drafts.js'
import { logLineOf } from './event-lines.js'

const common = { timestamp: 5, sessionId: 'ses', uniqueSessionId: 'ses_1' }
const ended = { startTime: 1, duration: 4 }
const person = { location: null, ip: '192.0.2.1', platform: null, clientData: 'Ada', serverData: 'secret' }
const participant = { ...common, participantId: 'con', connectionId: 'con', ...person }
const signal = { ...common, from: null, to: ['con'], type: 'chat', data: 'hello' }

it.each<[EventDraft, ReturnType<typeof logLineOf>]>([
  [
    { name: 'participantLeft', payload: { ...participant, ...ended, reason: 'disconnect' } },
    { level: 'log', members: { ...common, connectionId: 'con', duration: 4, reason: 'disconnect' } },
  ],
  [
    { name: 'signalSent', payload: signal },
    { level: 'debug', members: common },
  ],
])('a log line has the ids and reasons of an event, and nothing that participants wrote', (event, line) => {
  expect(logLineOf(event)).toEqual(line)
})
