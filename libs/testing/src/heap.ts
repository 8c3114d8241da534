import { z } from 'zod'
import { WebSocket } from 'ws'

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() })).min(1)
const Result = z.object({ id: z.number(), result: z.unknown() })
const HeapUsage = z.object({ usedSize: z.number() })
const Evaluation = z.object({ result: z.object({ value: z.string() }) })
const Handles = z.object({ resources: z.array(z.string()), listeners: z.number() })

/** The environment of a Node process that `heapInUse` and `handlesOf` can inspect. */
export const inspectable = (port: number): { NODE_OPTIONS: string } => ({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` })

interface Call {
  method: string
  params?: object
}

/** The active resources of a process (timers, sockets, servers and so on) by kind, and its listeners on `process`. */
export interface ProcessHandles {
  resources: Record<string, number>
  listeners: number
}

/**
 * The used bytes of the heap after a garbage collection, read through the inspector. Unlike resident memory they do not
 * depend on the time of the last collection.
 */
export async function heapInUse(port: number): Promise<number> {
  const calls = [{ method: 'HeapProfiler.collectGarbage' }, { method: 'Runtime.getHeapUsage' }]
  return HeapUsage.parse(await lastOf(port, calls)).usedSize
}

/** Reads the active resources of a process through its inspector. */
export async function handlesOf(port: number): Promise<ProcessHandles> {
  const expression = `JSON.stringify({
    resources: process.getActiveResourcesInfo(),
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  })`
  const evaluation = Evaluation.parse(await lastOf(port, [{ method: 'Runtime.evaluate', params: { expression } }]))
  const { resources, listeners } = Handles.parse(JSON.parse(evaluation.result.value))
  const counts: Record<string, number> = {}
  for (const kind of resources) counts[kind] = (counts[kind] ?? 0) + 1
  return { resources: counts, listeners }
}

/** Blocks the event loop of a process for `ms`; resolves when it continues. */
export async function blockEventLoop(port: number, ms: number): Promise<void> {
  const expression = `{ const end = performance.now() + ${ms}; while (performance.now() < end); }`
  await lastOf(port, [{ method: 'Runtime.evaluate', params: { expression } }])
}

/** The answer to the last of the calls. */
async function lastOf(port: number, calls: readonly Call[]): Promise<unknown> {
  const targets = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json())
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '')
  try {
    return await new Promise<unknown>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('open', () => calls.forEach((call, id) => socket.send(JSON.stringify({ id, ...call }))))
      socket.on('message', (data: Buffer) => {
        const answer = Result.safeParse(JSON.parse(data.toString()))
        if (answer.success && answer.data.id === calls.length - 1) resolve(answer.data.result)
      })
    })
  } finally {
    socket.terminate()
  }
}
