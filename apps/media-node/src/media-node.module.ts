import { Module, type DynamicModule } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { Bus } from '@session-service/messaging'
import { OpsModule, type OpsOptions } from '@session-service/server-kit'
import { AnnouncedAddress } from './address/announced-address.js'
import { AdaptiveBitrateModule } from './adaptive-bitrate/adaptive-bitrate.module.js'
import { ClusterModule } from './cluster/cluster.module.js'
import { CommandsModule } from './commands/commands.module.js'
import { FiltersModule } from './filters/filters.module.js'
import { InfrastructureModule, type Infrastructure } from './infrastructure.module.js'
import { IpCamerasModule } from './ip-cameras/ip-cameras.module.js'
import { LifecycleModule } from './lifecycle/lifecycle.module.js'
import { MediaStatisticsModule } from './media-statistics/media-statistics.module.js'
import { MonitoringModule } from './monitoring/monitoring.module.js'
import { readinessChecks } from './monitoring/readiness.js'
import { NetworkQualityModule } from './network-quality/network-quality.module.js'
import { NodeModule } from './node/node.module.js'
import { NODE_CONFIG, NodeState } from './node/node-state.js'
import { RecordingsModule } from './recordings/recordings.module.js'
import { RegistrationModule } from './registration/registration.module.js'
import { RoomsModule } from './rooms/rooms.module.js'
import { SpeechToTextModule } from './speech-to-text/speech-to-text.module.js'
import { TranscodingModule } from './transcoding/transcoding.module.js'
import { WorkerPool } from './workers/worker-pool.js'

const opsOptions = (
  config: NodeConfig,
  announced: AnnouncedAddress,
  bus: Bus,
  pool: WorkerPool,
  state: NodeState,
): OpsOptions => ({
  host: config.SERVICE_OPS_HOST,
  port: config.SERVICE_OPS_PORT,
  readiness: readinessChecks(announced, bus, pool, state),
})

@Module({
  imports: [
    OpsModule.forRootAsync({
      imports: [NodeModule],
      inject: [NODE_CONFIG, AnnouncedAddress, Bus, WorkerPool, NodeState],
      useFactory: opsOptions,
    }),
    NodeModule,
    RoomsModule,
    RecordingsModule,
    SpeechToTextModule,
    IpCamerasModule,
    FiltersModule,
    TranscodingModule,
    AdaptiveBitrateModule,
    NetworkQualityModule,
    MediaStatisticsModule,
    ClusterModule,
    MonitoringModule,
    LifecycleModule,
    RegistrationModule,
    CommandsModule,
  ],
})
export class MediaNodeModule {
  static forRoot(infrastructure: Infrastructure): DynamicModule {
    return { module: MediaNodeModule, imports: [InfrastructureModule.forRoot(infrastructure)] }
  }
}
