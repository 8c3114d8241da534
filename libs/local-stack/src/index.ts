export { type Account, mayEnter, mayRead, serverAccount } from './account/account.js'
export { makeOwnedFolder } from './account/owned-folder.js'
export { executableFor } from './account/executable.js'
export {
  programPath,
  startMaster,
  startMediaNode,
  startPlayground,
  systemEnv,
  type AppOptions,
  type AppProcess,
} from './apps.js'
export { FolderInUseError, lockFolder } from './folder-lock.js'
export { urlHostOf } from './listen-address.js'
export { findNatsServer, startNats, type LocalNats, type NatsOptions } from './nats/nats.js'
export {
  clusterUsers,
  natsAuthorization,
  natsUrlOf,
  newClusterUsers,
  newPassword,
  type ClusterUsers,
} from './nats/nats-users.js'
export { freePortFrom, freePorts, isFree, portHolder } from './ports.js'
export {
  findPostgres,
  removePostgresData,
  startPostgres,
  type LocalPostgres,
  type PostgresOptions,
} from './postgres/postgres.js'
export { isProgram } from './processes/is-program.js'
export {
  describeExit,
  isErrno,
  ManagedProcess,
  type OutputLine,
  type ProcessOptions,
} from './processes/managed-process.js'
export { calmMs } from './time/calm-clock.js'
export { budgetMs, calmStopwatch, calmTimeout } from './time/time-budget.js'
export { until } from './time/until.js'
