import { ServiceError } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { NodeReconciler } from './node-reconciler.service.js'

it('compares nodes that work or hold sessions with the database, and none that rests without sessions', async () => {
  const asked: string[] = []
  const beats = [
    { nodeId: 'working', bootId: 'b', everyMs: 500 },
    { nodeId: 'resting', bootId: 'b', everyMs: 2_000 },
    { nodeId: 'resting_with_sessions', bootId: 'b', everyMs: 2_000 },
  ]
  const mediaNodes = { live: () => beats } as never
  const nodeCommands = {
    request: ({ nodeId }: { nodeId: string }, command: string) => {
      asked.push(`${command} ${nodeId}`)
      return Promise.reject(new ServiceError('UNAVAILABLE', 'it has just ended'))
    },
  } as never
  const failures = { holdsSessions: ({ nodeId }: { nodeId: string }) => nodeId === 'resting_with_sessions' } as never
  const unused = {} as never
  const reconciler = new NodeReconciler(unused, unused, unused, mediaNodes, nodeCommands, unused, unused, failures)
  await reconciler.reconcile()
  expect(asked).toEqual(['inventory working', 'inventory resting_with_sessions'])
})
