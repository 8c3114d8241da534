import type { Heartbeat } from '@session-service/contract'
import type { NodeRow } from '@session-service/contract/dashboard'
import type { NodeFigures } from '../../media-nodes/media-node-queries.service.js'

type Figures = NonNullable<NodeRow['heartbeat']>

function figuresOf(heartbeat: Heartbeat): Figures {
  const { slots } = heartbeat
  return {
    version: heartbeat.version,
    memoryBytes: heartbeat.memoryBytes,
    workers: heartbeat.workers,
    participants: heartbeat.connections,
    streams: heartbeat.streams,
    consumers: heartbeat.consumers,
    cameras: heartbeat.cameras,
    recordings: slots?.recording.used ?? 0,
    slots: [
      ...(slots ? [{ kind: 'recording' as const, ...slots.recording }] : []),
      ...(slots?.speechToText ? [{ kind: 'speechToText' as const, ...slots.speechToText }] : []),
    ],
  }
}

export const nodeRow = ({ view, sessionCount, heartbeat }: NodeFigures): NodeRow => ({
  ...view,
  sessionCount,
  ...(view.connected && heartbeat && { heartbeat: figuresOf(heartbeat) }),
})
