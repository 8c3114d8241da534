import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type AppProcess, descendantsOf, type ServiceApi, type Stack, until } from '@session-service/testing'
import type { ActiveRecording, Recorder } from './recorder.js'
import { whenDecodable } from './watch-file.js'

const READY_MS = 60_000
type StartBody = Parameters<ServiceApi['startRecording']>[0]

/**
 * Records as a backend does: starts the recording through the REST interface; the media node records. `deferred`: the
 * master that has recordings composed after their end.
 */
export function nativeRecorder(
  stack: Stack,
  session: string,
  body: Omit<StartBody, 'session'> = {},
  deferred?: ServiceApi,
): Recorder {
  return { name: 'compositor', start: () => start(stack, { ...body, session }, deferred) }
}

async function start(stack: Stack, body: StartBody, deferred: ServiceApi | undefined): Promise<ActiveRecording> {
  const node = nodeOf(stack)
  const before = new Set(descendantsOf(node.pid).map(({ pid }) => pid))
  const began = performance.now()
  const { id } = await (deferred ?? stack.api).startRecording(body)
  const bytesAfterMs = performance.now() - began
  const hasFile = body.outputMode !== 'INDIVIDUAL' && !deferred
  const decodable = hasFile ? await whenDecodable(await fileOf(stack, id)) : began
  return {
    pids: descendantsOf(node.pid).flatMap(({ pid }) => (before.has(pid) ? [] : pid)),
    isOfNode: true,
    bytesAfterMs,
    decodableAfterMs: decodable - began,
    stop: () => finish(stack, id),
    abort: async () => void (await stack.rest('DELETE', `/recordings/${id}`)),
  }
}

export function nodeOf({ nodes: [node] }: Stack): AppProcess {
  if (!node) throw new Error('the stack has no media node')
  return node
}

/** Path of the file that the media node writes. */
async function fileOf({ recordingsFolder }: Stack, id: string): Promise<string> {
  const folder = join(dirname(recordingsFolder), 'nodes')
  return until('the node writes a file', async () => {
    const names = await readdir(folder, { recursive: true }).catch(() => [])
    const name = names.find((each) => each.includes(id) && each.endsWith('.mp4'))
    return name && join(folder, name)
  })
}

/** Stops the recording and returns the file once it is ready. */
async function finish(stack: Stack, id: string): Promise<string> {
  await stack.api.stopRecording(id)
  const { status } = await until(
    `${id} is finished`,
    async () => {
      const recording = await stack.api.getRecording(id)
      return recording.status !== 'stopped' && recording
    },
    READY_MS,
  )
  if (status !== 'ready') throw new Error(`${id} is ${status}`)
  return join(stack.recordingsFolder, id, `${id}.mp4`)
}
