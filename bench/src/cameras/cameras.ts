import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RtspServer, startStack } from '@session-service/testing'
import type { Benchmark } from '../benchmark/benchmark.js'
import { makeClips, PICTURES } from './clips.js'
import { compareCost } from './cost.js'
import { compareDelays } from './delays.js'
import { CAMERAS, compareMany } from './many.js'

export const cameras: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'bench-cameras-'))
    cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }))
    options.log('encoding the clips')
    const server = await RtspServer.start({ clips: await makeClips(folder) })
    cleanUp.defer(() => server.stop())
    const masterEnv = {
      SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]',
      // With a limit the cameras would be encoded again for their receivers.
      SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: '0',
    }
    const stack = await startStack({ masterEnv })
    cleanUp.defer(() => stack.stop())
    const scene = { stack, server }
    const costs = await compareCost(scene, options)
    const delays = await compareDelays(scene, options)
    const many = await compareMany(scene, options)
    return {
      names: { ours: 'session-service', reference: 'ffmpeg' },
      settings: { ...PICTURES, cameras: CAMERAS },
      comparisons: [...costs, ...delays, ...many.comparisons],
      notes: many.notes,
    }
  },
}
