import { Role, SIGNALLING_METHODS, type SignallingMethod } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { requireRight } from './rights.js'

const NEEDS_PUBLISHER: SignallingMethod[] = [
  'publish',
  'replaceMedia',
  'applyFilter',
  'execFilterMethod',
  'removeFilter',
  'addFilterEventListener',
  'removeFilterEventListener',
]
const NEEDS_MODERATOR: SignallingMethod[] = ['forceDisconnect', 'forceUnpublish']
const BEFORE_ROLES: SignallingMethod[] = ['join', 'resume']
const methods = (Object.keys(SIGNALLING_METHODS) as SignallingMethod[]).filter((name) => !BEFORE_ROLES.includes(name))

const mayCall = (role: Role, method: SignallingMethod): boolean =>
  NEEDS_MODERATOR.includes(method) ? role === 'MODERATOR' : !NEEDS_PUBLISHER.includes(method) || role !== 'SUBSCRIBER'

describe('requireRight', () => {
  it.each(Role.options.flatMap((role) => methods.map((method) => [role, method] as const)))(
    'allows or refuses a %s the call of %s, by its role',
    (role, method) => {
      const call = (): void => requireRight(role, method)
      if (mayCall(role, method)) expect(call).not.toThrow()
      else expect(call).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }))
    },
  )
  it.each(methods)('allows a recorder %s only when other participants do not notice the call', (method) => {
    const call = (): void => requireRight('SUBSCRIBER', method, true)
    const isNoticed = [...NEEDS_PUBLISHER, ...NEEDS_MODERATOR, 'signal'].includes(method)
    if (isNoticed) expect(call).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }))
    else expect(call).not.toThrow()
  })
})
