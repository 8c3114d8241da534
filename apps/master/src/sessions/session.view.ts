import type {
  ConnectionView,
  RecordingProperties,
  RecordingPropertiesView,
  SessionView,
} from '@session-service/contract'
import type { SessionRow } from './session.repository.js'

/** Contains only the members that apply to the output mode. */
export function recordingPropertiesView(properties: RecordingProperties): RecordingPropertiesView {
  const { name, hasAudio, hasVideo, outputMode, recordingLayout, customLayout, mediaNode } = properties
  const isIndividual = outputMode === 'INDIVIDUAL'
  return {
    name,
    hasAudio,
    hasVideo,
    outputMode,
    ...(!isIndividual &&
      hasVideo && {
        recordingLayout,
        ...(recordingLayout === 'CUSTOM' && { customLayout }),
        resolution: properties.resolution,
        frameRate: properties.frameRate,
        shmSize: properties.shmSize,
      }),
    ...(isIndividual && { ignoreFailedStreams: properties.ignoreFailedStreams }),
    ...(mediaNode !== undefined && { mediaNode }),
  }
}

export function sessionView(row: SessionRow, connections: ConnectionView[]): SessionView {
  return {
    id: row.id,
    object: 'session',
    sessionId: row.id,
    createdAt: row.createdAt,
    mediaMode: row.mediaMode,
    recordingMode: row.recordingMode,
    defaultRecordingProperties: recordingPropertiesView(row.recordingProperties),
    ...(row.hasCustomId && { customSessionId: row.id }),
    connections: { numberOfElements: connections.length, content: connections },
    recording: row.isRecorded,
    broadcasting: false,
    forcedVideoCodec: row.forcedVideoCodec,
    allowTranscoding: row.allowTranscoding,
    ...(row.mediaNodeId !== null && { mediaNodeId: row.mediaNodeId }),
    ...(row.forcedNodeId !== null && { mediaNode: { id: row.forcedNodeId } }),
    ...(row.maxParticipants !== null && { maxParticipants: row.maxParticipants }),
    ...(row.maxStreams !== null && { maxStreamsPerParticipant: row.maxStreams }),
    ...(row.maxDuration !== null && { maxDuration: row.maxDuration }),
  }
}
