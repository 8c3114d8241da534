import { Module, type DynamicModule } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { Bus, ReportSender } from '@session-service/messaging'
import { AnnouncedAddress } from './address/announced-address.js'
import { NodeIdentity } from './node/identity.js'
import { NODE_CONFIG } from './node/node-state.js'
import { WorkerPool } from './workers/worker-pool.js'

/** Opened before the application and closed after it. */
export interface Infrastructure {
  config: NodeConfig
  announced: AnnouncedAddress
  identity: NodeIdentity
  pool: WorkerPool
  bus: Bus
  reports: ReportSender
}

/** Makes the infrastructure injectable everywhere. */
@Module({})
export class InfrastructureModule {
  static forRoot({ config, announced, identity, pool, bus, reports }: Infrastructure): DynamicModule {
    return {
      module: InfrastructureModule,
      global: true,
      providers: [
        { provide: NODE_CONFIG, useValue: config },
        { provide: AnnouncedAddress, useValue: announced },
        { provide: NodeIdentity, useValue: identity },
        { provide: WorkerPool, useValue: pool },
        { provide: Bus, useValue: bus },
        { provide: ReportSender, useValue: reports },
      ],
      exports: [NODE_CONFIG, AnnouncedAddress, NodeIdentity, WorkerPool, Bus, ReportSender],
    }
  }
}
