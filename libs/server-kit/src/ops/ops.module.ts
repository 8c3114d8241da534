import { Module } from '@nestjs/common'
import { HealthIndicatorService } from '@nestjs/terminus'
import { OpsModuleBase } from './options.js'
import { OpsService } from './ops.service.js'

/** `OpsModule.forRoot({ host, port, readiness })` or `forRootAsync`: /healthz, /readyz and /metrics without credentials. */
@Module({ providers: [OpsService, HealthIndicatorService], exports: [OpsService] })
export class OpsModule extends OpsModuleBase {}
