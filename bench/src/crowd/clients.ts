import { SignallingClient } from '@session-service/synthetic-participant'
import { serveHelper } from '../helper/serve.js'
import { CLIENTS } from './api.js'

async function visit(tokens: readonly string[], atOnce: boolean) {
  const each = async <T, R>(items: readonly T[], step: (item: T) => Promise<R>): Promise<[R[], number]> => {
    const startedAt = performance.now()
    const results: R[] = []
    if (atOnce) results.push(...(await Promise.all(items.map(step))))
    else for (const item of items) results.push(await step(item))
    return [results, performance.now() - startedAt]
  }
  const [clients, joinMs] = await each(tokens, async (token) => {
    const client = await SignallingClient.open(token)
    await client.join()
    return client
  })
  const [, signalMs] = await each(clients, (client) =>
    client.request('signal', { to: [], type: 'chat', data: 'hello' }),
  )
  const [, leaveMs] = await each(clients, (client) => client.request('leave', {}))
  await Promise.all(clients.map((client) => client.close()))
  return { joinMs, signalMs, leaveMs }
}

serveHelper(CLIENTS, { visit: ({ tokens, atOnce }) => visit(tokens, atOnce) })
