import { type NodeFact, type NodeFactAnswer, ServiceError, SUBJECT } from '@session-service/contract'
import { BusContext, BusController } from '@session-service/messaging'
import { Inject } from '@nestjs/common'
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices'
import { FilterReports } from '../filters/filter-reports.service.js'
import { CameraReports } from '../ip-cameras/camera-reports.service.js'
import { NetworkQualityReports } from '../network-quality/network-quality-reports.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { RecordingReconciler } from '../recordings/lifecycle/recording-reconciler.service.js'
import { TranscriptsService } from '../speech-to-text/transcripts.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

/** Bound to their subjects in `app/bindings.ts`. */
export const FACT_PATTERN = 'fact'
export const REPEATED_FACT_PATTERN = 'repeatedFact'

@BusController()
export class NodeReportsController {
  constructor(
    private readonly failures: NodeFailureHandler,
    private readonly recordings: RecordingReconciler,
    private readonly transcripts: TranscriptsService,
    private readonly cameras: CameraReports,
    private readonly filters: FilterReports,
    private readonly networkQuality: NetworkQualityReports,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @MessagePattern([FACT_PATTERN, REPEATED_FACT_PATTERN])
  async fact(@Payload() fact: NodeFact, @Ctx() context: BusContext): Promise<NodeFactAnswer> {
    // The subject authenticates the node: the bus permits each node to publish only on its own.
    const subject = context.getSubject()
    if (subject !== SUBJECT.fact(fact.nodeId) && subject !== SUBJECT.repeatedFact(fact.nodeId))
      throw new ServiceError('INVALID', `nodeId: a fact of ${fact.nodeId} came on ${subject}`)
    if (fact.kind === 'clock') return this.#clockAnswer()
    if (fact.kind === 'hello' || fact.kind === 'roomsLost' || fact.kind === 'goodbye')
      return this.failures.handleReport(fact)
    await this.#report(fact)
    return { dropRoomIds: [] }
  }

  #clockAnswer(): NodeFactAnswer {
    const { SERVICE_PRO_STATS_WEBRTC_INTERVAL: media, SERVICE_PRO_STATS_MONITORING_INTERVAL: machine } = this.config
    return { dropRoomIds: [], now: this.clock.now(), statistics: { media: media * 1_000, machine: machine * 1_000 } }
  }

  #report(fact: Exclude<NodeFact, { kind: 'clock' | 'hello' | 'roomsLost' | 'goodbye' }>): Promise<void> {
    switch (fact.kind) {
      case 'recordingEnded':
        return this.recordings.partEnded(fact.ended)
      case 'sentenceRecognized':
        return this.transcripts.store(fact)
      case 'cameraChanged':
        return this.cameras.changed(fact.camera)
      case 'networkQualityChanged':
        return this.networkQuality.changed(fact.quality)
      case 'filterEnded':
        return this.filters.ended(fact)
      case 'filterEvent':
        return this.filters.dispatched(fact)
    }
  }
}
