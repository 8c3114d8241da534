import { INHERITED_VARIABLES, runApplication, takeAllBut } from '@session-service/server-kit'
import { startMediaNode } from './start-media-node.js'

/** A forced shutdown waits no longer: the rooms are moved to other nodes or are lost in any case. */
const CLOSE_DEADLINE_MS = 15_000

/** Drivers find the processes of a node, workers included, by its id. */
const isInherited = (name: string): boolean => name === 'MEDIA_NODE_ID' || INHERITED_VARIABLES.test(name)

const options = {
  name: 'media-node',
  closeDeadlineMs: CLOSE_DEADLINE_MS,
}
await runApplication((signal) => startMediaNode(takeAllBut(process.env, isInherited), signal), options)
