import { Module, type DynamicModule } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { Bus, FactSender } from '@session-service/messaging'
import { OpsModule } from '@session-service/server-kit'
import { MediaService } from './rooms/media.service.js'
import { WorkerPool } from './workers/worker-pool.js'
import { CommandsController } from './commands/commands.controller.js'
import { Fence } from './node/fence.js'
import { HeartbeatService } from './cluster/heartbeat.service.js'
import { NodeIdentity } from './node/identity.js'
import { RecordingsService } from './recordings/recordings.service.js'
import { LifecycleService } from './lifecycle/lifecycle.service.js'
import { MediaserverInfoService } from './commands/mediaserver-info.js'
import { ClockSyncService } from './cluster/clock-sync.service.js'
import { MembershipService } from './registration/registration.service.js'
import { NodeMetrics } from './monitoring/node-metrics.js'
import { NODE_CONFIG, NodeState } from './node/node-state.js'
import { readinessChecks } from './monitoring/readiness.js'
import { RoomEvents } from './rooms/room-events.js'
import { ReporterService } from './cluster/reports.service.js'

/** What the application stands on, opened before it and closed after it. */
export interface Foundations {
  config: NodeConfig
  identity: NodeIdentity
  pool: WorkerPool
  bus: Bus
  facts: FactSender
}

const createMedia = (
  config: NodeConfig,
  { bootId }: NodeIdentity,
  state: NodeState,
  pool: WorkerPool,
  events: RoomEvents,
): MediaService =>
  new MediaService({
    bootId,
    pickWorker: () => {
      state.admitRoom()
      return pool.pick()
    },
    workers: () => pool.workers,
    consumersPerRouter: config.MEDIA_NODE_CONSUMERS_PER_ROUTER,
    report: (roomId, event) => events.tell(roomId, event),
  })

@Module({})
export class MediaNodeModule {
  static on({ config, identity, pool, bus, facts }: Foundations): DynamicModule {
    const state = new NodeState()
    return {
      module: MediaNodeModule,
      imports: [
        OpsModule.forRoot({
          host: config.SERVICE_OPS_HOST,
          port: config.SERVICE_OPS_PORT,
          readiness: readinessChecks(bus, pool, state),
        }),
      ],
      controllers: [CommandsController],
      providers: [
        { provide: NodeIdentity, useValue: identity },
        { provide: WorkerPool, useValue: pool },
        { provide: Bus, useValue: bus },
        { provide: FactSender, useValue: facts },
        { provide: NODE_CONFIG, useValue: config },
        { provide: Fence, useValue: new Fence() },
        { provide: NodeState, useValue: state },
        RoomEvents,
        {
          provide: MediaService,
          useFactory: createMedia,
          inject: [NODE_CONFIG, NodeIdentity, NodeState, WorkerPool, RoomEvents],
        },
        HeartbeatService,
        MembershipService,
        ClockSyncService,
        RecordingsService,
        LifecycleService,
        MediaserverInfoService,
        ReporterService,
        NodeMetrics,
      ],
    }
  }
}
