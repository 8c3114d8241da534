import { z } from 'zod'
import { NetworkQualityLevel } from '../network-quality.js'
import { SessionEndReason, WebrtcEndReason } from '../reasons.js'
import { TypeOfVideo } from '../participants/members.js'
import { RecordingStatus } from './recording.js'

const listOf = <S extends z.ZodType>(element: S, elements: string) =>
  z.object({
    numberOfElements: z.number().int().describe(`Number of ${elements}`),
    content: z.array(element).describe(`The ${elements}`),
  })

const period = (what: string) => ({
  createdAt: z.number().describe(`Begin of the ${what}, UTC ms`),
  destroyedAt: z.number().describe(`End of the ${what}, UTC ms`),
  duration: z.number().int().describe('Whole seconds'),
})

/** A change of the network quality of a publisher. */
export const HistoryQualityView = z.object({
  timestamp: z.number().describe('Time of the change, UTC ms'),
  newValue: NetworkQualityLevel.describe('The level, 0 (broken) to 5 (excellent)'),
  oldValue: NetworkQualityLevel.optional().describe('The level before; absent in the first record'),
})
export type HistoryQualityView = z.infer<typeof HistoryQualityView>

/** Media that a connection published or received, in one use of one media node. */
export const HistoryMediaView = z.object({
  streamId: z.string().describe('Identifier of the stream'),
  ...period('media'),
  reason: WebrtcEndReason.describe('Why it ended'),
  receivingFrom: z.string().optional().describe('The publisher of a received stream'),
  videoSource: TypeOfVideo.optional().describe('Where the video comes from; absent without video'),
  videoFramerate: z.number().nullable().optional().describe('Frames per second, where known'),
  videoDimensions: z.string().nullable().optional().describe('JSON text with `width` and `height`, where known'),
  audioEnabled: z.boolean().describe('Whether it has audio'),
  videoEnabled: z.boolean().describe('Whether it has video'),
})
export type HistoryMediaView = z.infer<typeof HistoryMediaView>

/** A connection of an ended session. */
export const HistoryConnectionView = z.object({
  connectionId: z.string().describe('Identifier of the connection'),
  ...period('connection'),
  reason: SessionEndReason.describe('Why it ended'),
  clientData: z.string().describe('The data that the client gave when it joined'),
  serverData: z.string().describe('The data that the backend gave when it created the connection'),
  publishers: listOf(HistoryMediaView, 'streams that it published'),
  subscribers: listOf(HistoryMediaView, 'streams that it received'),
  networkQuality: listOf(HistoryQualityView, 'changes of its network quality'),
})
export type HistoryConnectionView = z.infer<typeof HistoryConnectionView>

/** Connections from one address with one platform. */
export const HistoryUserView = z.object({
  id: z.string().describe('Equal for connections from the same address with the same platform, in all sessions'),
  location: z.string().nullable().describe('City and country, where known'),
  platform: z.string().nullable().describe('Browser and operating system'),
  connections: listOf(HistoryConnectionView, 'connections of the user'),
})
export type HistoryUserView = z.infer<typeof HistoryUserView>

/** A recording of an ended session. It may have been deleted meanwhile. */
export const HistoryRecordingView = z.object({
  id: z.string().describe('Identifier of the recording'),
  name: z.string().describe('Name of the recording'),
  status: RecordingStatus.describe('Its last status'),
  startTime: z.number().describe('Its begin, UTC ms'),
  duration: z.number().describe('Seconds, with decimals'),
  size: z.number().describe('Bytes of its files'),
  reason: z.string().optional().describe('Why it was stopped; for `failed`, the error'),
})
export type HistoryRecordingView = z.infer<typeof HistoryRecordingView>

/** An ended session as lists show it. Members that are not known are null. */
export const HistorySessionView = z.object({
  id: z.string().describe('Identifier of the session, which may have been used again'),
  object: z.literal('historySession').describe('Always `historySession`'),
  uniqueSessionId: z.string().describe('Identifier of this use of the session id'),
  customSessionId: z.string().describe('The id that the backend chose; else empty'),
  ...period('session'),
  reason: SessionEndReason.describe('Why it ended'),
  mediaMode: z.enum(['ROUTED', 'RELAYED']).nullable().describe('As at its creation'),
  recordingMode: z.enum(['ALWAYS', 'MANUAL']).nullable().describe('As at its creation'),
  mediaNodeId: z.string().nullable().describe('The last media node with its media; null when no client joined'),
  numberOfUsers: z.number().int().describe('Number of users'),
  numberOfConnections: z.number().int().describe('Number of connections that joined'),
  numberOfRecordings: z.number().int().describe('Number of recordings'),
})
export type HistorySessionView = z.infer<typeof HistorySessionView>

/** An ended session with all that happened in it. */
export const HistorySessionDetailsView = HistorySessionView.extend({
  users: listOf(HistoryUserView, 'users'),
  recordings: listOf(HistoryRecordingView, 'recordings'),
})
export type HistorySessionDetailsView = z.infer<typeof HistorySessionDetailsView>

/** A page of ended sessions. */
export const HistorySessionListView = listOf(HistorySessionView, 'sessions of this answer').extend({
  next: z.string().optional().describe('Value of `after` that requests the next sessions; absent in the last answer'),
})
export type HistorySessionListView = z.infer<typeof HistorySessionListView>
