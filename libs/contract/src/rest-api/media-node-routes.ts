import { z } from 'zod'
import {
  AddMediaNodeBody,
  DeletionStrategy,
  MediaNodeListView,
  MediaNodeView,
  UpdateMediaNodeBody,
} from '../rest/media-node.js'
import { faults, gone, ok, PAID, PREFIX, type Route } from './route.js'

const NODES = `${PREFIX}/media-nodes`
const NODE = `${NODES}/{mediaNodeId}`
const NO_NODE = `No such media node; or: ${PAID}`
const HIGHLY_AVAILABLE = 'Media nodes of a highly available cluster are for whoever runs its machines'
const Flag = z.enum(['true', 'false']).optional()
const NodeDetails = z.object({
  sessions: Flag.describe('Whether the sessions on the node are told'),
  recordings: Flag.describe('Whether the recordings and broadcasts on the node are told'),
  'extra-info': Flag.describe('Whether the node is asked what it runs; one that does not answer is shown without'),
})
export type NodeDetailsQuery = z.output<typeof NodeDetails>
const AddMediaNode = z.object({ wait: Flag.describe('Whether to answer only once it runs') })
export type AddMediaNodeQuery = z.output<typeof AddMediaNode>
const RemoveMediaNode = z.object({
  wait: Flag.describe('Whether to answer only once it has gone'),
  'deletion-strategy': DeletionStrategy.optional().describe('What becomes of a busy one; `if-no-sessions` keeps it'),
})
export type RemoveMediaNodeQuery = z.output<typeof RemoveMediaNode>
export const MEDIA_NODES = {
  listMediaNodes: {
    method: 'GET',
    path: NODES,
    tag: 'Media nodes',
    summary: 'List all media nodes',
    query: NodeDetails,
    answers: { ...ok('All media nodes', MediaNodeListView), ...faults({ 404: PAID }) },
  },
  getMediaNode: {
    method: 'GET',
    path: NODE,
    tag: 'Media nodes',
    summary: 'Retrieve a media node',
    query: NodeDetails,
    answers: { ...ok('The media node', MediaNodeView), ...faults({ 404: NO_NODE }) },
  },
  addMediaNode: {
    method: 'POST',
    path: NODES,
    tag: 'Media nodes',
    summary: 'Add a media node: on premises one that runs, elsewhere a new one',
    body: AddMediaNodeBody,
    query: AddMediaNode,
    answers: {
      ...ok('Added', MediaNodeView),
      ...faults({
        404: `No media node is heard from there; or: ${PAID}`,
        405: HIGHLY_AVAILABLE,
        409: 'It is in the cluster already',
        501: 'On premises `uri` is needed',
        502: 'It could not be started',
      }),
    },
  },
  discoverMediaNodes: {
    method: 'PUT',
    path: NODES,
    tag: 'Media nodes',
    summary: 'Add all media nodes that are heard and are not in the cluster',
    answers: { ...ok('The new ones', MediaNodeListView), ...faults({ 404: PAID, 405: HIGHLY_AVAILABLE }) },
  },
  updateMediaNode: {
    method: 'PATCH',
    path: NODE,
    tag: 'Media nodes',
    summary: 'Change the status of a media node',
    body: UpdateMediaNodeBody,
    answers: {
      ...ok('As it is now', MediaNodeView),
      ...gone('It had the status already'),
      ...faults({ 404: NO_NODE, 405: HIGHLY_AVAILABLE, 409: 'The node was told to end and does so' }),
    },
  },
  removeMediaNode: {
    method: 'DELETE',
    path: NODE,
    tag: 'Media nodes',
    summary: 'Remove a media node',
    query: RemoveMediaNode,
    answers: {
      ...ok('It is going', MediaNodeView),
      202: { description: 'It goes once its sessions have', schema: MediaNodeView },
      ...gone('It has gone'),
      ...faults({
        400: 'No such strategy',
        404: NO_NODE,
        405: HIGHLY_AVAILABLE,
        409: 'There are sessions on it',
      }),
    },
  },
} as const satisfies Record<string, Route>
