import { describe, expect, it } from '@jest/globals'
import { mayAct, mayView, type Action, type ActingRole } from './rights.js'
import { SCREENS, type ScreenName } from './routes.js'

const ACTIONS: Action[] = [
  'endSession',
  'evict',
  'changeRole',
  'unpublish',
  'record',
  'deleteRecording',
  'deleteHistory',
  'deadLetters',
  'mediaNodes',
  'configuration',
]
const OF_SESSIONS = ACTIONS.slice(0, 7)
const hidden = (role: ActingRole): string[] =>
  Object.keys(SCREENS).filter((screen) => !mayView(role, screen as ScreenName))
const offered = (role: ActingRole): Action[] => ACTIONS.filter((action) => mayAct(role, action))

describe('the rights of a role', () => {
  it.each<[ActingRole, Action[], string[]]>([
    ['all', ACTIONS, []],
    ['read-only', [], ['media-nodes', 'media-node', 'configuration']],
    ['session-prefix', OF_SESSIONS, ['media-nodes', 'media-node', 'dead-letters', 'configuration']],
  ])('offers to %s the actions and screens that the REST API permits', (role, actions, screens) => {
    expect(offered(role)).toEqual(actions)
    expect(hidden(role)).toEqual(screens)
  })
})
