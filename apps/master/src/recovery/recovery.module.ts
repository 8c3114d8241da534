import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { FiltersModule } from '../filters/filters.module.js'
import { IpCamerasModule } from '../ip-cameras/ip-cameras.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { NetworkQualityModule } from '../network-quality/network-quality.module.js'
import { PlacementModule } from '../placement/placement.module.js'
import { RecordingLifecycleModule } from '../recordings/lifecycle/recording-lifecycle.module.js'
import { DesiredStateEnforcer } from './desired-state-enforcer.service.js'
import { ProcessEndDetector } from './process-end-detector.service.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'
import { NodeIdClaims } from './node-id-claims.service.js'
import { NodeReconciler } from './node-reconciler.service.js'
import { NodeRegistration } from './node-registration.service.js'
import { NodeReportsController } from './node-reports.controller.js'
import { SessionRecovery } from './session-recovery.service.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { StreamsModule } from '../streams/streams.module.js'

/** Detects failed media nodes and moves their sessions; reconciles what nodes run with what they should run. */
@Module({
  imports: [
    ConnectionsModule,
    FiltersModule,
    IpCamerasModule,
    MediaNodesModule,
    NetworkQualityModule,
    PlacementModule,
    RecordingLifecycleModule,
    SessionsModule,
    SpeechToTextModule,
    StreamsModule,
  ],
  controllers: [NodeReportsController],
  providers: [
    SessionRecovery,
    NodeIdClaims,
    NodeFailureHandler,
    ProcessEndDetector,
    NodeRegistration,
    DesiredStateEnforcer,
    NodeReconciler,
  ],
  exports: [SessionRecovery, NodeRegistration, DesiredStateEnforcer],
})
export class RecoveryModule {}
