import { INHERITED_VARIABLES, runApplication, takeAllBut } from '@session-service/server-kit'
import { startMediaNode } from './start-media-node.js'

/** Who forces the end of a node waits no longer; what it holds lives on elsewhere or is lost either way. */
const CLOSE_DEADLINE_MS = 15_000

/** By its id a driver finds the processes of a node, workers too. */
const isInherited = (name: string): boolean => name === 'MEDIA_NODE_ID' || INHERITED_VARIABLES.test(name)

const options = {
  name: 'media-node',
  closeDeadlineMs: CLOSE_DEADLINE_MS,
}
await runApplication((signal) => startMediaNode(takeAllBut(process.env, isInherited), signal), options)
