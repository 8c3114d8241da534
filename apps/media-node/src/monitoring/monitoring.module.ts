import type { NodeConfig } from '@session-service/config'
import { MachineMonitor } from '@session-service/server-kit'
import { Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { NODE_CONFIG } from '../node/node-state.js'
import { NodeModule } from '../node/node.module.js'
import { StatisticsSettings } from '../node/statistics-settings.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { NodeMetrics } from './node-metrics.js'

const machineMonitor = (settings: StatisticsSettings, config: NodeConfig): MachineMonitor =>
  new MachineMonitor({
    intervalMs: () => settings.intervals.machine,
    folder: config.MEDIA_NODE_RECORDING_PATH,
    minFreeMib: config.MEDIA_NODE_RECORDING_MIN_FREE,
  })

@Module({
  imports: [NodeModule, RoomsModule],
  providers: [
    NodeMetrics,
    { provide: MachineMonitor, useFactory: machineMonitor, inject: [StatisticsSettings, NODE_CONFIG] },
  ],
})
export class MonitoringModule implements OnModuleInit, OnModuleDestroy {
  constructor(private readonly machine: MachineMonitor) {}

  onModuleInit(): void {
    this.machine.start()
  }

  onModuleDestroy(): void {
    this.machine.stop()
  }
}
