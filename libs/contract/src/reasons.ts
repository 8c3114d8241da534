import { z } from 'zod'

/** The reason why a connection ended, for clients and backends. */
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

/** The reason why a stream ended: its own reasons, and those of its connection. */
export const StreamDestroyedReason = z.enum([
  'unpublish',
  'forceUnpublishByUser',
  'forceUnpublishByServer',
  'mediaServerReconnect',
  ...DisconnectReason.options,
])
export type StreamDestroyedReason = z.infer<typeof StreamDestroyedReason>

/** The reason why a participant's media in one direction ended. */
export const WebrtcEndReason = z.enum([
  'unsubscribe',
  ...StreamDestroyedReason.options,
  'lastParticipantLeft',
  'automaticStop',
])
export type WebrtcEndReason = z.infer<typeof WebrtcEndReason>

/** The reason why a session ended. */
export const SessionEndReason = z.enum(['lastParticipantLeft', 'automaticStop', ...DisconnectReason.options])
export type SessionEndReason = z.infer<typeof SessionEndReason>

/** The prefix of a part's failure because of a full disk. */
export const NOT_ENOUGH_DISK = 'not enough disk'

/** The reason why a recording stopped. */
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

/** The reason why the retention deletes a recording: its age, or the total size of all recordings. */
export const RecordingRemovalReason = z.enum(['age', 'totalSize'])
export type RecordingRemovalReason = z.infer<typeof RecordingRemovalReason>

/** The reason why a property of a stream changed. */
export const StreamChangeReason = z.enum([
  'publishVideo',
  'publishAudio',
  'trackReplaced',
  'deviceRotated',
  'screenResized',
])
export type StreamChangeReason = z.infer<typeof StreamChangeReason>

/** The reason why the filter of a stream changed; `filterFailed`: its program ended, and the stream continues without it. */
export const FilterChangeReason = z.enum(['applyFilter', 'execFilterMethod', 'removeFilter', 'filterFailed'])
export type FilterChangeReason = z.infer<typeof FilterChangeReason>
