import { z } from 'zod'
import { DisconnectReason, RecordingRemovalReason, SessionEndReason, WebrtcEndReason } from '../reasons.js'
import { TypeOfVideo } from '../participants/members.js'
import { MediaNodeStatus, PlacementBackOff } from '../rest/media-node.js'
import { OutputMode, RecordingLayout, RecordingStatus } from '../rest/recording.js'

/** Times in UTC ms. `uniqueSessionId` distinguishes repeated uses of a custom session id. */
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

/** OUTBOUND is a published stream, INBOUND a received one with its publisher. The video members only exist with video. */
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
  /** The stream of a camera on the network: its address without credentials, and its options. */
  rtspUri: z.string().optional(),
  adaptativeBitrate: z.boolean().optional(),
  onlyPlayWithSubscribers: z.boolean().optional(),
  networkCache: z.number().optional(),
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

/** A node in the events of autoscaling. */
const scaledNode = z.strictObject({
  id: z.string(),
  environmentId: z.string(),
  ip: z.string(),
  load: z.number(),
  status: MediaNodeStatus,
})
const scaledNodes = z.array(scaledNode)

const removedRecording = {
  id: z.string(),
  name: z.string(),
  size: z.number(),
  /** Seconds, with decimals. */
  duration: z.number(),
  startTime: z.number(),
  reason: RecordingRemovalReason,
}

/** The events for backends by name: bodies of webhooks and lines of the call detail records. */
export const BACKEND_EVENTS = {
  sessionCreated: z.strictObject(common),
  sessionDestroyed: z.strictObject({ ...common, ...ended, reason: SessionEndReason }),
  participantJoined: z.strictObject({ ...common, ...participant }),
  /** Cameras leave a session that has ended, with its reason. */
  participantLeft: z.strictObject({ ...common, ...participant, ...ended, reason: SessionEndReason }),
  webrtcConnectionCreated: z.strictObject({ ...common, ...webrtcConnection }),
  webrtcConnectionDestroyed: z.strictObject({
    ...common,
    ...webrtcConnection,
    ...ended,
    reason: WebrtcEndReason,
  }),
  /** `from` is null for signals of the REST API; `to` names all receivers. */
  signalSent: z.strictObject({
    ...common,
    from: z.string().nullable(),
    to: z.array(z.string()),
    type: z.string(),
    data: z.string(),
  }),
  /** An event of a filter for which a client has a listener; `data` is JSON text. */
  filterEventDispatched: z.strictObject({
    ...common,
    participantId: z.string(),
    connectionId: z.string(),
    streamId: z.string(),
    filterType: z.string(),
    eventType: z.string(),
    data: z.string(),
  }),
  /** `started` has no reason; `size` and `duration` are final when `ready`. `media_node_id` exists in paid editions. */
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
    /** The reason of the stop; for `failed`, the error. */
    reason: z.string().optional(),
    media_node_id: z.string().optional(),
  }),
  /** The retention will delete the recording, not before `removalAt`. */
  recordingRemovalAnnounced: z.strictObject({ ...common, ...removedRecording, removalAt: z.number().int() }),
  /** The retention has deleted the recording. */
  recordingRemoved: z.strictObject({ ...common, ...removedRecording }),
  /** Opt-in: a session with a transcript has ended, and its sentences are stored. */
  transcriptReady: z.strictObject({
    ...common,
    /** The number of sentences. */
    sentences: z.number().int().positive(),
    languages: z.array(z.string()),
  }),
  /** `oldStatus` is null for a new node; both are equal when only the back-off has started. */
  mediaNodeStatusChanged: z.strictObject({
    ...mediaNode,
    oldStatus: MediaNodeStatus.nullable(),
    newStatus: MediaNodeStatus,
    /** Why the environment could not start the node, or ends it. */
    statusReason: z.string().optional(),
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
  /** No master could start with the latest configuration, so the previous one is in force again. */
  configurationRolledBack: z.strictObject({
    timestamp: z.number().int(),
    clusterId: z.string(),
    /** The invalid properties, or all that the restart changed. */
    properties: z.array(z.string()),
    reason: z.string(),
  }),
  autoscaling: z.strictObject({
    timestamp: z.number().int(),
    clusterId: z.string(),
    /** A sentence for operators. */
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

/** Events of the cluster; all other events belong to a session and carry its ids. */
const CLUSTER_EVENTS = [
  'mediaNodeStatusChanged',
  'nodeCrashed',
  'nodeRecovered',
  'autoscaling',
  'configurationRolledBack',
] as const
type ClusterEventName = (typeof CLUSTER_EVENTS)[number]
export const isClusterEvent = (name: string): name is ClusterEventName => CLUSTER_EVENTS.some((known) => known === name)

export type BackendEventName = keyof typeof BACKEND_EVENTS
export type BackendEvent<N extends BackendEventName = BackendEventName> = z.infer<(typeof BACKEND_EVENTS)[N]>

/** Reasons of the last participant for which the session ends with `lastParticipantLeft`. */
const INDIVIDUAL_REASONS: readonly DisconnectReason[] = [
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'networkDisconnect',
]

/** The end reason of a session whose last participant left for `reason`. */
export const endedByLast = (reason: DisconnectReason): SessionEndReason =>
  INDIVIDUAL_REASONS.includes(reason) ? 'lastParticipantLeft' : reason

/** The body of a webhook: the members of the event and its name. */
export const WebhookBody = z.looseObject({ event: z.string(), timestamp: z.number() })
export type WebhookBody = z.infer<typeof WebhookBody>

/** An event that could not be delivered. It is kept until it is replayed, deleted or expired. */
export const DeadLetterView = z.object({
  id: z.string().describe('Identifier of the event, as in the header `webhook-id`'),
  object: z.literal('deadLetter').describe('Always `deadLetter`'),
  event: z.string().describe('Name of the event'),
  uniqueSessionId: z.string().optional().describe('Session of the event; absent for events of the cluster'),
  createdAt: z.number().describe('Time of the event, UTC ms'),
  attempts: z.number().describe('Number of failed attempts'),
  lastError: z.string().describe('Why the last attempt failed'),
  payload: WebhookBody.describe('The posted body'),
})
export type DeadLetterView = z.infer<typeof DeadLetterView>
export const DeadLetterListView = z.object({
  numberOfElements: z.number().describe('Number of all dead letters'),
  content: z.array(DeadLetterView).describe('The oldest thousand dead letters'),
})
export type DeadLetterListView = z.infer<typeof DeadLetterListView>
