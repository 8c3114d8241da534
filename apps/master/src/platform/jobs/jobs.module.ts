import { type DynamicModule, Module, type ModuleMetadata, type Type } from '@nestjs/common'
import { ClusterMembership } from './cluster-membership.js'
import { ClusterTick } from './cluster-tick.js'
import { Scheduler } from './scheduler.js'

interface JobsOptions extends Pick<ModuleMetadata, 'imports'> {
  /** A provider of `imports`. */
  membership: Type<ClusterMembership>
}

/** Runs the methods of all providers that are decorated with `Job`. */
@Module({})
export class JobsModule {
  static forRoot({ imports = [], membership }: JobsOptions): DynamicModule {
    return {
      module: JobsModule,
      imports,
      providers: [{ provide: ClusterMembership, useExisting: membership }, Scheduler, ClusterTick],
      exports: [ClusterMembership],
    }
  }
}
