import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common'
import type { Bus } from '@session-service/messaging'
import { OpsModule } from '@session-service/server-kit'
import type { DataSource } from 'typeorm'
import { ClockSampler } from './database/clock-sampler.js'
import { ClusterClock } from './database/cluster-clock.js'
import { AutoscalingService } from './autoscaling/autoscaling.service.js'
import { nodeDriverProvider } from './autoscaling/node-drivers.js'
import { BusModule } from './bus/bus.module.js'
import { type Configuration, ConfigurationModule } from './configuration/configuration.module.js'
import { ConfigurationController } from './configuration/configuration.controller.js'
import { OverridesController } from './configuration/overrides.controller.js'
import { RestartController } from './configuration/restart.controller.js'
import { RestartService } from './configuration/restart.service.js'
import { ConnectionRepository } from './connections/connection.repository.js'
import { ParticipantRepository } from './connections/participant.repository.js'
import { PresenceRepository } from './connections/presence.repository.js'
import { RecorderRepository } from './connections/recorder.repository.js'
import { ConnectionsController } from './connections/connections.controller.js'
import { ConnectionsService } from './connections/connections.service.js'
import { ParticipationService } from './connections/participation.service.js'
import { DatabaseModule } from './database/database.module.js'
import { DEPRECATED_CONTROLLERS } from './deprecated/deprecated-controllers.js'
import { DutiesService } from './duties/duties.service.js'
import { HealthController } from './health/health.controller.js'
import { HealthService } from './health/health.service.js'
import { CdrController } from './events/cdr.controller.js'
import { CdrService } from './events/cdr.service.js'
import { DeadLettersController } from './events/dead-letters.controller.js'
import { EventLog } from './events/event-log.js'
import { OutboxRepository } from './events/outbox.repository.js'
import { WebhookSender } from './events/webhook-sender.service.js'
import { readinessChecks } from './health/readiness.js'
import { DocsController } from './http/docs/docs.controller.js'
import { IdempotentCalls } from './http/idempotency/idempotent-calls.service.js'
import { LocationsService } from './location/locations.service.js'
import { MediaNodesBus } from './media-nodes/media-nodes.bus.js'
import { MediaNodeRepository } from './media-nodes/media-node.repository.js'
import { MediaNodesService } from './media-nodes/media-nodes.service.js'
import { MediaNodesController } from './media-nodes/media-nodes.controller.js'
import { NodeAdmissionService } from './media-nodes/node-admission.service.js'
import { NodeLaunchService } from './media-nodes/node-launch.service.js'
import { NodeListingService } from './media-nodes/node-listing.service.js'
import { NodeFleet } from './media-nodes/node-fleet.service.js'
import { NodeIdClaims } from './media-nodes/node-id-claims.service.js'
import { NodeLossService } from './media-nodes/node-loss.service.js'
import { NodeOrdersService } from './media-nodes/node-orders.service.js'
import { NodeRegistryService } from './media-nodes/node-registry.service.js'
import { NodeRemovalService } from './media-nodes/node-removal.service.js'
import { NodeSelection } from './media-nodes/node-selection.service.js'
import { NodeUpkeepService } from './media-nodes/node-upkeep.service.js'
import { NodeWatchService } from './media-nodes/node-watch.service.js'
import { RecordingsController } from './recordings/recordings.controller.js'
import { RecordingFilesService } from './recordings/files/recording-files.service.js'
import { LayoutsService } from './recordings/layouts/layouts.service.js'
import { RecordingFiles } from './recordings/recording-files.js'
import { RecordingMaker } from './recordings/recording-maker.service.js'
import { RecordingRepository } from './recordings/recording.repository.js'
import { RecordingAssembly } from './recordings/recording-assembly.service.js'
import { RecordingWork } from './recordings/recording-work.service.js'
import { RecordingsService } from './recordings/recordings.service.js'
import { SessionRecordings } from './recordings/session-recordings.js'
import { RoomPlacement } from './sessions/room-placement.js'
import { SessionMediaRepository } from './sessions/session-media.repository.js'
import { SessionRecovery } from './sessions/session-recovery.service.js'
import { SessionRepository } from './sessions/session.repository.js'
import { SessionsController } from './sessions/sessions.controller.js'
import { SessionsService } from './sessions/sessions.service.js'
import { LostMediaWatch } from './signalling/lost-media-watch.js'
import { MediaMethods } from './signalling/media.methods.js'
import { ClientBudgets } from './signalling/client-budgets.js'
import { RoomSockets } from './signalling/room-sockets.js'
import { SessionChannel } from './signalling/session-channel.js'
import { SignallingMethods } from './signalling/signalling.methods.js'
import { SignallingServer } from './signalling/signalling.server.js'
import { SignalsController } from './signals/signals.controller.js'
import { RecentSignals } from './signals/recent-signals.js'
import { SignalsService } from './signals/signals.service.js'
import { SpeechToTextController } from './speech-to-text/speech-to-text.controller.js'
import { SpeechToTextService } from './speech-to-text/speech-to-text.service.js'
import { StreamRepository } from './streams/stream.repository.js'
import { StreamsController } from './streams/streams.controller.js'
import { StreamsService } from './streams/streams.service.js'
import { TokenRequestsService } from './tokens/token-requests.service.js'
import { TokensController } from './tokens/tokens.controller.js'
import { TokensService } from './tokens/tokens.service.js'

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
