import { z } from 'zod'
import { DisconnectReason, SessionEndReason, StreamDestroyedReason } from '../reasons.js'
import { TypeOfVideo } from '../rest/connection.js'
import { MediaNodeStatus, PlacementBackOff } from '../rest/media-node.js'
import { OutputMode, RecordingLayout, RecordingStatus } from '../rest/recording.js'

/** Times in UTC ms. `uniqueSessionId` tells two uses of one custom session id apart. */
const common = { timestamp: z.number().int(), sessionId: z.string(), uniqueSessionId: z.string() }

/** `duration` in whole seconds since `startTime`. */
const ended = { startTime: z.number().int(), duration: z.number().int().nonnegative() }

/** `participantId` is an older name of `connectionId`. */
const participant = {
  participantId: z.string(),
  connectionId: z.string(),
  location: z.string().nullable(),
  ip: z.string().nullable(),
  platform: z.string().nullable(),
  clientData: z.string(),
  serverData: z.string(),
}

/** Seen from the participant: OUTBOUND publishes, INBOUND subscribes and tells from whom; the video members only with video. */
const webrtcConnection = {
  streamId: z.string(),
  participantId: z.string(),
  connectionId: z.string(),
  connection: z.enum(['INBOUND', 'OUTBOUND']),
  receivingFrom: z.string().optional(),
  videoSource: TypeOfVideo.optional(),
  videoFramerate: z.number().nullable().optional(),
  videoDimensions: z.string().nullable().optional(),
  audioEnabled: z.boolean(),
  videoEnabled: z.boolean(),
}

const mediaNode = {
  timestamp: z.number().int(),
  id: z.string(),
  environmentId: z.string(),
  ip: z.string(),
  uri: z.string(),
  clusterId: z.string(),
}
const nodeRole = z.enum(['medianode', 'masternode'])

/** As the lineage's autoscaler lists nodes. */
const scaledNode = z.strictObject({
  id: z.string(),
  environmentId: z.string(),
  ip: z.string(),
  load: z.number(),
  status: MediaNodeStatus,
})
const scaledNodes = z.array(scaledNode)

/** What a backend is told, by the name of the event: members of a line of the call records. */
export const BACKEND_EVENTS = {
  sessionCreated: z.strictObject(common),
  sessionDestroyed: z.strictObject({ ...common, ...ended, reason: SessionEndReason }),
  participantJoined: z.strictObject({ ...common, ...participant }),
  participantLeft: z.strictObject({ ...common, ...participant, ...ended, reason: DisconnectReason }),
  webrtcConnectionCreated: z.strictObject({ ...common, ...webrtcConnection }),
  webrtcConnectionDestroyed: z.strictObject({
    ...common,
    ...webrtcConnection,
    ...ended,
    reason: z.enum(['unsubscribe', ...StreamDestroyedReason.options]),
  }),
  /** `from` is null when the server's own side sent it; `to` names every receiver. */
  signalSent: z.strictObject({
    ...common,
    from: z.string().nullable(),
    to: z.array(z.string()),
    type: z.string(),
    data: z.string(),
  }),
  /** Of `started` without a reason; `size` and `duration` are final when `ready`. `media_node_id` in paid editions. */
  recordingStatusChanged: z.strictObject({
    ...common,
    id: z.string(),
    name: z.string(),
    outputMode: OutputMode,
    hasAudio: z.boolean(),
    hasVideo: z.boolean(),
    resolution: z.string().optional(),
    frameRate: z.number().optional(),
    recordingLayout: RecordingLayout.optional(),
    customLayout: z.string().optional(),
    size: z.number(),
    /** Seconds, with decimals. */
    duration: z.number(),
    status: RecordingStatus.exclude(['starting']),
    startTime: z.number(),
    /** Why it was stopped; of `failed` what went wrong. */
    reason: z.string().optional(),
    media_node_id: z.string().optional(),
  }),
  /** `oldStatus` is null when the node is new; both are the same when only the back-off has begun. */
  mediaNodeStatusChanged: z.strictObject({
    ...mediaNode,
    oldStatus: MediaNodeStatus.nullable(),
    newStatus: MediaNodeStatus,
    backOff: PlacementBackOff.optional(),
  }),
  nodeCrashed: z.strictObject({
    ...mediaNode,
    nodeRole,
    sessionIds: z.array(z.string()),
    recordingIds: z.array(z.string()),
    broadcasts: z.array(z.string()),
    timeOfDisconnection: z.number(),
  }),
  nodeRecovered: z.strictObject({ ...mediaNode, nodeRole, timeOfDisconnection: z.number() }),
  /** No master could serve the latest restart: the configuration that served before it is in force again. */
  configurationRolledBack: z.strictObject({
    timestamp: z.number().int(),
    clusterId: z.string(),
    /** The properties at fault, or all that the restart changed. */
    properties: z.array(z.string()),
    reason: z.string(),
  }),
  autoscaling: z.strictObject({
    timestamp: z.number().int(),
    clusterId: z.string(),
    /** A sentence for people. */
    reason: z.string(),
    mediaNodes: z.strictObject({
      launch: z.strictObject({
        total: z.number().int(),
        newNodes: z.number().int(),
        waitingIdleToTerminateNodes: scaledNodes,
        canceledNodes: scaledNodes,
      }),
      terminate: z.strictObject({
        total: z.number().int(),
        runningNodes: scaledNodes,
        launchingNodes: scaledNodes,
      }),
    }),
    system: z.strictObject({
      config: z.strictObject({
        maxNodes: z.number(),
        minNodes: z.number(),
        maxAvgLoad: z.number(),
        minAvgLoad: z.number(),
      }),
      status: z.strictObject({
        numNodes: z.number().int(),
        totalLoad: z.number(),
        avgLoad: z.number(),
        runningNodes: scaledNodes,
        launchingNodes: scaledNodes,
        waitingIdleToTerminateNodes: scaledNodes,
        canceledNodes: scaledNodes,
      }),
    }),
  }),
} as const

/** Events of the cluster; all others are of a session and carry its ids. */
export const CLUSTER_EVENTS = [
  'mediaNodeStatusChanged',
  'nodeCrashed',
  'nodeRecovered',
  'autoscaling',
  'configurationRolledBack',
] as const
export type ClusterEventName = (typeof CLUSTER_EVENTS)[number]
export const isClusterEvent = (name: string): name is ClusterEventName => CLUSTER_EVENTS.some((known) => known === name)

export type BackendEventName = keyof typeof BACKEND_EVENTS
export type BackendEvent<N extends BackendEventName = BackendEventName> = z.infer<(typeof BACKEND_EVENTS)[N]>
export type WebrtcEndReason = BackendEvent<'webrtcConnectionDestroyed'>['reason']

/** Reasons of the last participant that make a session end with `lastParticipantLeft`. */
const GOES_BY_ITSELF: readonly DisconnectReason[] = [
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'networkDisconnect',
]

/** Why the session ended whose last participant left for `reason`. */
export const endedByLast = (reason: DisconnectReason): SessionEndReason =>
  GOES_BY_ITSELF.includes(reason) ? 'lastParticipantLeft' : reason

/** Body of a webhook: the event's name beside its members. */
export const WebhookBody = z.looseObject({ event: z.string(), timestamp: z.number() })
export type WebhookBody = z.infer<typeof WebhookBody>

/** An event that was given up: it is kept until it is replayed, purged or too old. */
export const DeadLetterView = z.object({
  id: z.string().describe('Identifier of the event, as in the header `webhook-id`'),
  object: z.literal('deadLetter').describe('Always `deadLetter`'),
  event: z.string().describe('Name of the event'),
  uniqueSessionId: z.string().optional().describe('Session of the event; absent for events of the cluster'),
  createdAt: z.number().describe('Time of the event, UTC ms'),
  attempts: z.number().describe('Number of failed attempts'),
  lastError: z.string().describe('Why the last attempt failed'),
  payload: WebhookBody.describe('Body that was posted'),
})
export type DeadLetterView = z.infer<typeof DeadLetterView>
export const DeadLetterListView = z.object({
  numberOfElements: z.number().describe('Number of all given-up events'),
  content: z.array(DeadLetterView).describe('The oldest thousand'),
})
export type DeadLetterListView = z.infer<typeof DeadLetterListView>
