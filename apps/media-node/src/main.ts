import { runApplication } from '@session-service/server-kit'
import { startMediaNode } from './start-media-node.js'

/** Who forces the end of a node waits no longer; what it holds lives on elsewhere or is lost either way. */
const CLOSE_DEADLINE_MS = 15_000

await runApplication((signal) => startMediaNode(process.env, signal), {
  name: 'media-node',
  closeDeadlineMs: CLOSE_DEADLINE_MS,
})
