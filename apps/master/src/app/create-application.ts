import { ServiceError } from '@session-service/contract'
import { BusTransport } from '@session-service/messaging'
import {
  HttpErrorFilter,
  OpsService,
  listenOnPrivilegedPort,
  serveLogLevel,
  type ServiceLogger,
  translateDatabaseError,
} from '@session-service/server-kit'
import { NestFactory } from '@nestjs/core'
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify'
import { LiveViewStreams } from '../api/dashboard/live/live-view-streams.service.js'
import { LIVE_ADDRESS } from '../api/dashboard/live.controller.js'
import { OPEN_DASHBOARD_ADDRESSES, serveDashboardPage } from '../api/dashboard/page-files.js'
import { refreshAfterActions } from '../api/dashboard/refresh-after-actions.js'
import type { SignIns } from '../api/dashboard/sign-in.controller.js'
import { accountsOf, BasicCredentials } from '../platform/authentication/basic-credentials.js'
import { BasicAuthGuard } from '../platform/authentication/basic-auth-guard.js'
import { SignInCookies } from '../platform/authentication/sign-in-cookies.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { bindPattern } from './bindings.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { serveClientLibrary } from '../platform/http/client-library.js'
import { corsOptions } from '../platform/http/origins/cors.js'
import { namedOrigins } from '../platform/http/origins/cross-site.js'
import { warnAboutUntrustedProxy } from '../platform/http/proxies/forwarded-headers.js'
import { createHttpAdapter } from '../platform/http/http-adapter.js'
import { answerRetries } from '../platform/http/idempotency/idempotency.js'
import { RequestLimiter } from '../platform/limits/request-limiter.js'
import { IdempotentCalls } from '../platform/http/idempotency/idempotent-calls.service.js'
import { rejectDuringRestart } from '../platform/http/reject-during-restart.js'
import { legacyAddresses, translateLegacyRequests } from '../legacy-clients/rest/legacy-rest.js'
import { legacyNames, type LegacyNames } from '../legacy-clients/wire/names.js'
import { routeAccess } from './route-access.js'
import { type Infrastructure, MasterModule } from './master.module.js'
import { ClusterMembership } from '../platform/jobs/cluster-membership.js'
import { openRecordingAddresses, routeRecordingFiles } from '../recordings/api/recording-routes.js'
import { RECORDING_ADDRESS } from '../recordings/storage/serve-recordings.js'
import { RecordingParts } from '../recordings/repository/recording-parts.js'
import { SignallingGateway } from '../signalling/gateway/signalling.gateway.js'

/** Downloads of recordings do not count: players send many requests for ranges. Nor do live views, which reconnect. */
const requestRate = ({ SERVICE_REST_RATE_LIMIT: perSecond, SERVICE_REST_RATE_BURST: burst }: MasterConfig) =>
  perSecond === 0
    ? undefined
    : { limiter: new RequestLimiter({ perSecond, burst }), exempt: [RECORDING_ADDRESS, LIVE_ADDRESS] }

interface ApplicationAccess {
  guard: BasicAuthGuard
  signIns: SignIns | undefined
  /** The names of clients of version 2; undefined while they are not served. */
  legacy: LegacyNames | undefined
}

function createAccess(config: MasterConfig): ApplicationAccess {
  const accounts = accountsOf(config)
  const legacy = config.SERVICE_COMPAT_PREFIX ? legacyNames(config.SERVICE_COMPAT_PREFIX) : undefined
  const isSecure = config.SERVICE_PUBLICURL.startsWith('https:')
  const cookies = config.SERVICE_PRO_DASHBOARD ? new SignInCookies(accounts, isSecure) : undefined
  const credentials = new BasicCredentials(accounts, legacy ? [legacy.user] : [])
  const guard = new BasicAuthGuard(credentials, { signIns: cookies })
  return { guard, signIns: cookies && { guard, cookies }, legacy }
}

function createAdapter(
  config: MasterConfig,
  errors: HttpErrorFilter,
  { guard, signIns, legacy }: ApplicationAccess,
): FastifyAdapter {
  const adapter = createHttpAdapter({
    guard,
    errors,
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    namedOrigins: namedOrigins(config.SERVICE_CORS_ORIGINS, config.SERVICE_PUBLICURL),
    open: [...openRecordingAddresses(config), ...(signIns ? [OPEN_DASHBOARD_ADDRESSES] : [])],
    rate: requestRate(config),
    accessOf: routeAccess,
    rewriteUrl: legacy && legacyAddresses(legacy),
  })
  if (legacy) translateLegacyRequests(adapter.getInstance(), legacy)
  return adapter
}

/** Creates the Nest application of a master with its routes; it is not initialized yet. */
export async function createApplication(
  infrastructure: Infrastructure,
  logger: ServiceLogger,
): Promise<NestFastifyApplication> {
  const { config, bus, lifecycle } = infrastructure
  const errors = new HttpErrorFilter(translateDatabaseError)
  const access = createAccess(config)
  const { guard, signIns } = access
  const adapter = createAdapter(config, errors, access)
  listenOnPrivilegedPort(adapter.getInstance().server, { host: config.SERVICE_HOST, port: config.SERVICE_PORT })
  rejectDuringRestart(adapter.getInstance(), lifecycle)
  await serveClientLibrary(adapter.getInstance())
  if (signIns) await serveDashboardPage(adapter.getInstance())
  const app = await NestFactory.create<NestFastifyApplication>(MasterModule.forRoot(infrastructure, signIns), adapter, {
    logger,
    bodyParser: false,
    abortOnError: false,
  })
  app.enableCors(corsOptions(config.SERVICE_CORS_ORIGINS))
  await routeRecordingFiles(adapter.getInstance(), config, {
    gate: guard,
    errors,
    clock: app.get(ClusterClock),
    hasPart: (part) => app.get(RecordingParts).exists(part),
  })
  if (signIns) refreshAfterActions(adapter.getInstance(), () => app.get(LiveViewStreams).refresh())
  answerRetries(adapter.getInstance(), app.get(IdempotentCalls))
  app.useGlobalFilters(errors)
  app.connectMicroservice({ strategy: new BusTransport({ bus, bind: bindPattern }) })
  app.get(SignallingGateway).attachTo(app.getHttpServer())
  warnAboutUntrustedProxy(app.getHttpServer(), config.SERVICE_TRUSTED_PROXIES)
  serveLogLevel(app.get(OpsService), logger)
  app.get(OpsService).addReadinessCheck('nodes', async () => {
    if (!app.get(ClusterMembership).hasQuorum)
      throw new ServiceError('UNAVAILABLE', 'this master receives no heartbeats of most media nodes')
  })
  return app
}
