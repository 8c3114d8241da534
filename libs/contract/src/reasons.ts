import { z } from 'zod'

/** Why a connection left, as clients and backends are told. */
export const DisconnectReason = z.enum([
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'sessionClosedByServer',
  'networkDisconnect',
  'nodeCrashed',
  'mediaServerDisconnect',
  'serviceServerStopped',
])
export type DisconnectReason = z.infer<typeof DisconnectReason>

/** Why a stream ended: its own reasons, and those of the connection that published it. */
export const StreamDestroyedReason = z.enum([
  'unpublish',
  'forceUnpublishByUser',
  'forceUnpublishByServer',
  'mediaServerReconnect',
  ...DisconnectReason.options,
])
export type StreamDestroyedReason = z.infer<typeof StreamDestroyedReason>

/** Why a session ended. */
export const SessionEndReason = z.enum(['lastParticipantLeft', 'automaticStop', ...DisconnectReason.options])
export type SessionEndReason = z.infer<typeof SessionEndReason>

/** What failures of parts begin with that a full disk has ended or refused. */
export const NOT_ENOUGH_DISK = 'not enough disk'

/** Why a recording was stopped. */
export const RecordingStopReason = z.enum([
  'recordingStoppedByServer',
  'sessionClosedByServer',
  'automaticStop',
  'lastParticipantLeft',
  'mediaServerDisconnect',
  'mediaServerReconnect',
  'nodeCrashed',
  'serviceServerStopped',
  'notEnoughDisk',
])
export type RecordingStopReason = z.infer<typeof RecordingStopReason>

/** Why a property of a stream changed. */
export const StreamChangeReason = z.enum([
  'publishVideo',
  'publishAudio',
  'trackReplaced',
  'deviceRotated',
  'screenResized',
])
export type StreamChangeReason = z.infer<typeof StreamChangeReason>
