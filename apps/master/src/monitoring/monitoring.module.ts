import { MachineMonitor } from '@session-service/server-kit'
import { Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { exportPool } from '../platform/database/database-metrics.js'
import { poolOf } from '../platform/database/data-source.js'
import { ClusterGauges } from './cluster-gauges.service.js'

const machineMonitor = (config: MasterConfig): MachineMonitor =>
  new MachineMonitor({
    intervalMs: () => config.SERVICE_PRO_STATS_MONITORING_INTERVAL * 1_000,
    folder: config.SERVICE_RECORDING ? config.SERVICE_RECORDING_PATH : undefined,
    minFreeMib: config.SERVICE_RECORDING_FREE_SPACE,
  })

/** Metrics of the cluster, the database and this machine. */
@Module({
  imports: [MediaNodesModule],
  providers: [ClusterGauges, { provide: MachineMonitor, useFactory: machineMonitor, inject: [MASTER_CONFIG] }],
})
export class MonitoringModule implements OnModuleInit, OnModuleDestroy {
  constructor(
    private readonly machine: MachineMonitor,
    dataSource: DataSource,
  ) {
    exportPool(poolOf(dataSource))
  }

  onModuleInit(): void {
    this.machine.start()
  }

  onModuleDestroy(): void {
    this.machine.stop()
  }
}
