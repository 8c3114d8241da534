import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common'
import type { Bus } from '@session-service/messaging'
import { OpsModule } from '@session-service/server-kit'
import type { DataSource } from 'typeorm'
import { ClockSampler } from '../platform/database/clock-sampler.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { AutoscalingService } from '../autoscaling/autoscaling.service.js'
import { nodeDriverProvider } from '../media-nodes/drivers/node-drivers.js'
import { BusModule } from '../platform/bus/bus.module.js'
import { type Configuration, ConfigurationModule } from '../platform/config/configuration.module.js'
import { ConfigurationController } from '../api/configuration/configuration.controller.js'
import { OverridesController } from '../api/configuration/overrides.controller.js'
import { RestartController } from '../api/configuration/restart.controller.js'
import { RestartService } from '../api/configuration/restart.service.js'
import { ConnectionRepository } from '../connections/connection.repository.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { PresenceRepository } from '../connections/presence.repository.js'
import { RecorderRepository } from '../connections/recorder.repository.js'
import { ConnectionsController } from '../connections/connections.controller.js'
import { ConnectionsService } from '../connections/connections.service.js'
import { ParticipationService } from '../participation/participation.service.js'
import { DatabaseModule } from '../platform/database/database.module.js'
import { DEPRECATED_CONTROLLERS } from '../api/deprecated/deprecated-controllers.js'
import { DutiesService } from '../platform/jobs/scheduler.js'
import { HealthController } from '../api/health/health.controller.js'
import { HealthService } from '../api/health/health.service.js'
import { CdrController } from '../events/cdr/cdr.controller.js'
import { CdrService } from '../events/cdr/cdr.service.js'
import { DeadLettersController } from '../events/webhook/dead-letters.controller.js'
import { EventLog } from '../events/event-log.js'
import { OutboxRepository } from '../events/outbox.repository.js'
import { WebhookSender } from '../events/webhook/webhook-sender.service.js'
import { readinessChecks } from '../api/health/readiness.js'
import { DocsController } from '../api/docs/docs.controller.js'
import { IdempotentCalls } from '../platform/http/idempotency/idempotent-calls.service.js'
import { LocationsService } from '../participation/location/locations.service.js'
import { MediaNodesBus } from '../recovery/node-facts.js'
import { MediaNodeRepository } from '../media-nodes/media-node.repository.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { MediaNodesController } from '../api/media-nodes/media-nodes.controller.js'
import { NodeAdmissionService } from '../api/media-nodes/node-admission.service.js'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { NodeListingService } from '../api/media-nodes/node-listing.service.js'
import { NodeFleet } from '../media-nodes/node-fleet.service.js'
import { NodeIdClaims } from '../recovery/node-id-claims.service.js'
import { NodeLossService } from '../recovery/node-loss.service.js'
import { NodeOrdersService } from '../recovery/node-orders.service.js'
import { NodeRegistryService } from '../recovery/node-registry.service.js'
import { NodeRemovalService } from '../api/media-nodes/node-removal.service.js'
import { NodeSelection } from '../placement/node-selection.service.js'
import { NodeUpkeepService } from '../recovery/node-upkeep.service.js'
import { NodeWatchService } from '../recovery/node-watch.service.js'
import { RecordingsController } from '../recordings/api/recordings.controller.js'
import { RecordingFilesService } from '../recordings/storage/recording-files.service.js'
import { LayoutsService } from '../recordings/layouts/layouts.service.js'
import { RecordingFiles } from '../recordings/storage/recording-files.js'
import { RecordingMaker } from '../recordings/lifecycle/recording-maker.service.js'
import { RecordingRepository } from '../recordings/recording.repository.js'
import { RecordingAssembly } from '../recordings/finalize/recording-assembly.service.js'
import { RecordingWork } from '../recordings/lifecycle/recording-work.service.js'
import { RecordingsService } from '../recordings/api/recordings.service.js'
import { SessionRecordings } from '../recordings/lifecycle/session-recordings.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { SessionMediaRepository } from '../placement/session-media.repository.js'
import { SessionRecovery } from '../recovery/session-recovery.service.js'
import { SessionRepository } from '../sessions/session.repository.js'
import { SessionsController } from '../api/sessions/sessions.controller.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { LostMediaWatch } from '../signalling/lost-media-watch.js'
import { MediaMethods } from '../signalling/media.methods.js'
import { ClientBudgets } from '../platform/limits/client-budgets.js'
import { RoomSockets } from '../signalling/room-sockets.js'
import { SessionChannel } from '../platform/bus/session-channel.js'
import { SignallingMethods } from '../signalling/signalling.methods.js'
import { SignallingServer } from '../signalling/signalling.server.js'
import { SignalsController } from '../signals/signals.controller.js'
import { RecentSignals } from '../signals/recent-signals.js'
import { SignalsService } from '../signals/signals.service.js'
import { SpeechToTextController } from '../speech-to-text/speech-to-text.controller.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { StreamRepository } from '../streams/stream.repository.js'
import { StreamsController } from '../streams/streams.controller.js'
import { StreamsService } from '../streams/streams.service.js'
import { TokenRequestsService } from '../connections/token-requests.service.js'
import { TokensController } from '../connections/tokens.controller.js'
import { TokensService } from '../tokens/tokens.service.js'

/** What the application stands on, opened before it. */
export interface Foundations extends Configuration {
  bus: Bus
  dataSource: DataSource
}

const CONTROLLERS: Type[] = [
  SessionsController,
  ConnectionsController,
  StreamsController,
  RecordingsController,
  SignalsController,
  SpeechToTextController,
  TokensController,
  CdrController,
  DeadLettersController,
  MediaNodesBus,
  MediaNodesController,
  ConfigurationController,
  OverridesController,
  RestartController,
  HealthController,
  DocsController,
]

const PROVIDERS: Provider[] = [
  nodeDriverProvider,
  ClusterClock,
  ClockSampler,
  EventLog,
  OutboxRepository,
  WebhookSender,
  CdrService,
  IdempotentCalls,
  SessionRepository,
  SessionMediaRepository,
  SessionsService,
  SessionRecovery,
  RoomPlacement,
  ConnectionRepository,
  ParticipantRepository,
  PresenceRepository,
  RecorderRepository,
  LocationsService,
  ConnectionsService,
  ParticipationService,
  StreamRepository,
  StreamsService,
  RecentSignals,
  SignalsService,
  TokensService,
  TokenRequestsService,
  { provide: RecordingFiles, useClass: RecordingFilesService },
  RecordingRepository,
  SessionRecordings,
  LayoutsService,
  RecordingMaker,
  RecordingAssembly,
  RecordingWork,
  RecordingsService,
  SpeechToTextService,
  MediaNodeRepository,
  MediaNodesService,
  NodeFleet,
  AutoscalingService,
  NodeIdClaims,
  NodeLossService,
  NodeRegistryService,
  NodeListingService,
  NodeOrdersService,
  NodeLaunchService,
  NodeAdmissionService,
  NodeRemovalService,
  NodeUpkeepService,
  NodeSelection,
  NodeWatchService,
  SessionChannel,
  ClientBudgets,
  RoomSockets,
  LostMediaWatch,
  MediaMethods,
  SignallingMethods,
  SignallingServer,
  DutiesService,
  RestartService,
  HealthService,
]

@Module({})
export class MasterModule {
  static on({ bus, dataSource, ...configuration }: Foundations): DynamicModule {
    const { config } = configuration
    return {
      module: MasterModule,
      imports: [
        ConfigurationModule.of(configuration),
        BusModule.of(bus),
        DatabaseModule.of(dataSource),
        OpsModule.forRoot({
          host: config.SERVICE_OPS_HOST,
          port: config.SERVICE_OPS_PORT,
          readiness: readinessChecks(bus, dataSource),
        }),
      ],
      controllers: [...CONTROLLERS, ...(config.SUPPORT_DEPRECATED_API ? DEPRECATED_CONTROLLERS : [])],
      providers: PROVIDERS,
    }
  }
}
