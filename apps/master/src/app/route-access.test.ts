import { ROUTES, type Route } from '@session-service/contract/rest-api'
import { describe, expect, it } from '@jest/globals'
import { routeAccess } from './route-access.js'

const operations = Object.entries<Route>(ROUTES).map(
  ([name, { method, path }]) => [name, method, path.replace(/\{(\w+)\}/g, ':$1')] as const,
)

describe('routeAccess', () => {
  it.each(operations)('declares the access of the documented operation %s: %s %s', (_, method, path) => {
    expect(routeAccess(method, path)).toBeDefined()
  })

  it.each(operations.filter(([, , path]) => path.includes(':sessionId')))(
    'restricts %s to the session in its path: %s %s',
    (_, method, path) => expect(routeAccess(method, path)).toEqual({ session: 'path' }),
  )

  it('declares nothing for unknown routes and methods', () => {
    expect(routeAccess('GET', '/service/api/nowhere')).toBeUndefined()
    expect(routeAccess('PUT', '/service/api/sessions')).toBeUndefined()
    expect(routeAccess('POST', '/service/client/x')).toBeUndefined()
  })
})
