import { Module } from '@nestjs/common'
import { HealthIndicatorService } from '@nestjs/terminus'
import { OpsModuleBase } from './options.js'
import { OpsService } from './ops.service.js'

/** Serves /healthz, /readyz and /metrics without credentials: `OpsModule.forRoot({ host, port, readiness })` or `forRootAsync`. */
@Module({ providers: [OpsService, HealthIndicatorService], exports: [OpsService] })
export class OpsModule extends OpsModuleBase {}
