import { type NodeFact, type NodeFactAnswer, ServiceError, SUBJECT } from '@session-service/contract'
import { BusContext, BusController } from '@session-service/messaging'
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices'
import { CameraReports } from '../ip-cameras/camera-reports.service.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { RecordingReconciler } from '../recordings/lifecycle/recording-reconciler.service.js'
import { TranscriptsService } from '../speech-to-text/transcripts.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

/** Bound to its subject in `app/bindings.ts`. */
export const FACT_PATTERN = 'fact'

@BusController()
export class NodeReportsController {
  constructor(
    private readonly failures: NodeFailureHandler,
    private readonly recordings: RecordingReconciler,
    private readonly transcripts: TranscriptsService,
    private readonly cameras: CameraReports,
    private readonly clock: ClusterClock,
  ) {}

  @MessagePattern(FACT_PATTERN)
  async fact(@Payload() fact: NodeFact, @Ctx() context: BusContext): Promise<NodeFactAnswer> {
    // The subject authenticates the node: the bus permits each node to publish only on its own.
    if (context.getSubject() !== SUBJECT.fact(fact.nodeId))
      throw new ServiceError('INVALID', `nodeId: a fact of ${fact.nodeId} came on ${context.getSubject()}`)
    if (fact.kind === 'clock') return { dropRoomIds: [], now: this.clock.now() }
    if (fact.kind === 'sentenceRecognized') {
      await this.transcripts.store(fact)
      return { dropRoomIds: [] }
    }
    if (fact.kind === 'cameraChanged') {
      await this.cameras.changed(fact.camera)
      return { dropRoomIds: [] }
    }
    if (fact.kind === 'filterEnded' || fact.kind === 'filterEvent') return { dropRoomIds: [] }
    if (fact.kind !== 'recordingEnded') return this.failures.handleReport(fact)
    await this.recordings.partEnded(fact.ended)
    return { dropRoomIds: [] }
  }
}
