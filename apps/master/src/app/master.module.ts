import type { Bus } from '@session-service/messaging'
import { OpsModule } from '@session-service/server-kit'
import { type DynamicModule, Module } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import { RestartModule } from '../api/configuration/restart.module.js'
import { DashboardModule } from '../api/dashboard/dashboard.module.js'
import type { SignIns } from '../api/dashboard/sign-in.controller.js'
import { DeprecatedModule } from '../api/deprecated/deprecated.module.js'
import { DocsModule } from '../api/docs/docs.module.js'
import { HealthModule } from '../api/health/health.module.js'
import { readinessChecks } from '../api/health/readiness.js'
import { MediaNodesApiModule } from '../api/media-nodes/media-nodes-api.module.js'
import { SessionsApiModule } from '../api/sessions/sessions-api.module.js'
import { AutoscalingModule } from '../autoscaling/autoscaling.module.js'
import { HistoryModule } from '../events/history/history.module.js'
import { CdrModule } from '../events/cdr/cdr.module.js'
import { SearchModule } from '../events/search/search.module.js'
import { WebhookModule } from '../events/webhook/webhook.module.js'
import { LegacyClientsModule } from '../legacy-clients/gateway/legacy-clients.module.js'
import { MasterMembership } from '../media-nodes/master-membership.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { MonitoringModule } from '../monitoring/monitoring.module.js'
import type { Configuration } from '../platform/config/configuration.module.js'
import { JobsModule } from '../platform/jobs/jobs.module.js'
import { PlatformModule } from '../platform/platform.module.js'
import { RecordingsModule } from '../recordings/api/recordings.module.js'
import { SignallingModule } from '../signalling/gateway/signalling.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'

/** Resources that are opened before the Nest application and closed after it. */
export interface Infrastructure extends Configuration {
  bus: Bus
  dataSource: DataSource
}

@Module({})
export class MasterModule {
  /** `signIns`: of the dashboard; undefined while it is disabled. */
  static forRoot({ bus, dataSource, ...configuration }: Infrastructure, signIns?: SignIns): DynamicModule {
    const { config } = configuration
    return {
      module: MasterModule,
      imports: [
        PlatformModule.forRoot({ bus, dataSource, configuration }),
        OpsModule.forRoot({
          host: config.SERVICE_OPS_HOST,
          port: config.SERVICE_OPS_PORT,
          readiness: readinessChecks(bus, dataSource),
        }),
        JobsModule.forRoot({ imports: [MediaNodesModule], membership: MasterMembership }),
        WebhookModule,
        CdrModule,
        HistoryModule,
        SearchModule,
        AutoscalingModule,
        MonitoringModule,
        SpeechToTextModule,
        RecordingsModule,
        SignallingModule,
        SessionsApiModule,
        MediaNodesApiModule,
        RestartModule,
        HealthModule,
        DocsModule,
        ...(signIns ? [DashboardModule.forRoot(signIns)] : []),
        ...(config.SUPPORT_DEPRECATED_API ? [DeprecatedModule] : []),
        ...(config.SERVICE_COMPAT_PREFIX ? [LegacyClientsModule] : []),
      ],
    }
  }
}
