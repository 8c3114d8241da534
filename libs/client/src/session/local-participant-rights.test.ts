import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'

let testbed: ParticipantTestbed
beforeEach(async () => {
  testbed = await ParticipantTestbed.join()
})
afterEach(() => testbed.stop())

it('a participant that resumes emits one event for each right that was changed meanwhile', async () => {
  const { server } = testbed
  const resume = async (): Promise<void> => {
    testbed.log.length = 0
    server.last.terminate()
    await testbed.waitForEvent('reconnected')
    await testbed.handled()
  }
  await resume()
  expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
  const rights = { role: 'MODERATOR', record: false }
  server.answer('resume', () => ({ result: { ...rights, snapshot: testbed.snapshot } }))
  await resume()
  const changes = (): unknown[] =>
    testbed.events.filter(({ name }) => name === 'connectionPropertyChanged').map(({ event }) => event)
  expect(changes()).toMatchObject([
    { changedProperty: 'role', oldValue: 'PUBLISHER', newValue: 'MODERATOR' },
    { changedProperty: 'record', oldValue: true, newValue: false },
  ])
  // The notifications of the same changes were held until the answer.
  for (const [changedProperty, newValue] of Object.entries(rights))
    server.notify('connectionPropertyChanged', { connectionId: 'con_own', changedProperty, newValue })
  await resume()
  expect(changes()).toHaveLength(2)
})
