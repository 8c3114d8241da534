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
const HIGHLY_AVAILABLE = 'Several masters run in an environment that starts and ends its media nodes itself'
const Flag = z.enum(['true', 'false']).optional()
const NodeDetails = z.object({
  sessions: Flag.describe('Whether to include the sessions on the node'),
  recordings: Flag.describe('Whether to include the recordings and broadcasts on the node'),
  'extra-info': Flag.describe(
    'Whether to request `mediaserverInfo` from the node; absent when the node does not answer',
  ),
})
export type NodeDetailsQuery = z.output<typeof NodeDetails>
const AddMediaNode = z.object({ wait: Flag.describe('Whether to wait until the node runs') })
export type AddMediaNodeQuery = z.output<typeof AddMediaNode>
const RemoveMediaNode = z.object({
  wait: Flag.describe('Whether to wait until the node has ended'),
  'deletion-strategy': DeletionStrategy.optional().describe(
    'What to do with a node that has sessions: refuse (`if-no-sessions`, default), drain, or end it at once',
  ),
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
    summary: 'Add a media node',
    body: AddMediaNodeBody,
    query: AddMediaNode,
    answers: {
      ...ok('Added', MediaNodeView),
      ...faults({
        404: `No heartbeat of a media node with this address arrives; or: ${PAID}`,
        405: HIGHLY_AVAILABLE,
        409: 'The media node is in the cluster already',
        501: '`uri` is mandatory on premises',
        502: 'The media node could not be started',
      }),
    },
  },
  discoverMediaNodes: {
    method: 'PUT',
    path: NODES,
    tag: 'Media nodes',
    summary: 'Add all running media nodes that are not in the cluster',
    answers: { ...ok('The added media nodes', MediaNodeListView), ...faults({ 404: PAID, 405: HIGHLY_AVAILABLE }) },
  },
  updateMediaNode: {
    method: 'PATCH',
    path: NODE,
    tag: 'Media nodes',
    summary: 'Change the status of a media node',
    body: UpdateMediaNodeBody,
    answers: {
      ...ok('The updated media node', MediaNodeView),
      ...gone('The media node has this status already'),
      ...faults({ 404: NO_NODE, 405: HIGHLY_AVAILABLE, 409: 'The media node is terminating' }),
    },
  },
  removeMediaNode: {
    method: 'DELETE',
    path: NODE,
    tag: 'Media nodes',
    summary: 'Remove a media node',
    query: RemoveMediaNode,
    answers: {
      ...ok('The media node is terminating', MediaNodeView),
      202: { description: 'The media node drains, and ends with its last session', schema: MediaNodeView },
      ...gone('The media node has ended'),
      ...faults({
        400: 'No such strategy',
        404: NO_NODE,
        405: HIGHLY_AVAILABLE,
        409: 'The media node has sessions',
      }),
    },
  },
} as const satisfies Record<string, Route>
