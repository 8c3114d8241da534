import { type DynamicModule, Module } from '@nestjs/common'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecordingStorageModule } from '../../recordings/storage/recording-storage.module.js'
import { HealthModule } from '../health/health.module.js'
import { MediaNodesApiModule } from '../media-nodes/media-nodes-api.module.js'
import { SIGN_INS } from './dashboard.tokens.js'
import { LiveViewStreams } from './live/live-views.service.js'
import { LiveController } from './live.controller.js'
import { SignInController, type SignIns } from './sign-in.controller.js'
import { ClusterSummaryReader } from './views/cluster-summary.service.js'
import { LiveViewReader } from './views/live-views.service.js'
import { OverviewReader } from './views/overview.service.js'

/** The dashboard for operators: sign-in, live views and search. Its actions are requests to the REST API. */
@Module({})
export class DashboardModule {
  static forRoot(signIns: SignIns): DynamicModule {
    return {
      module: DashboardModule,
      imports: [HealthModule, MediaNodesApiModule, MediaNodesModule, RecordingStorageModule],
      controllers: [LiveController, SignInController],
      providers: [
        { provide: SIGN_INS, useValue: signIns },
        ClusterSummaryReader,
        LiveViewReader,
        LiveViewStreams,
        OverviewReader,
      ],
    }
  }
}
