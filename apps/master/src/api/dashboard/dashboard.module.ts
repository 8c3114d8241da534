import { type DynamicModule, Module } from '@nestjs/common'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { EventsModule } from '../../events/events.module.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecordingsModule } from '../../recordings/api/recordings.module.js'
import { RecordingStorageModule } from '../../recordings/storage/recording-storage.module.js'
import { HealthModule } from '../health/health.module.js'
import { MediaNodesApiModule } from '../media-nodes/media-nodes-api.module.js'
import { SIGN_INS } from './dashboard.tokens.js'
import { LiveViewStreams } from './live/live-view-streams.service.js'
import { LiveController } from './live.controller.js'
import { SearchController } from './search.controller.js'
import { SignInController, type SignIns } from './sign-in.controller.js'
import { ClusterSummaryReader } from './views/cluster-summary.service.js'
import { LiveViewReader } from './views/live-view-reader.service.js'
import { OverviewReader } from './views/overview.service.js'
import { RecordingRows } from './views/recording-rows.js'
import { DashboardSearch } from './views/search.service.js'
import { SessionDetailsReader } from './views/session-details.service.js'

/** The dashboard for operators: sign-in, live views and search. Its actions are requests to the REST API. */
@Module({})
export class DashboardModule {
  static forRoot(signIns: SignIns): DynamicModule {
    return {
      module: DashboardModule,
      imports: [
        ConnectionsModule,
        EventsModule,
        HealthModule,
        MediaNodesApiModule,
        MediaNodesModule,
        RecordingsModule,
        RecordingStorageModule,
      ],
      controllers: [LiveController, SearchController, SignInController],
      providers: [
        { provide: SIGN_INS, useValue: signIns },
        ClusterSummaryReader,
        DashboardSearch,
        LiveViewReader,
        LiveViewStreams,
        OverviewReader,
        RecordingRows,
        SessionDetailsReader,
      ],
    }
  }
}
