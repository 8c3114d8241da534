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
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import { BasicCredentials } from '../platform/authentication/basic-credentials.js'
import { BasicAuthGuard } from '../platform/authentication/basic-auth-guard.js'
import { bindPattern } from './bindings.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { serveClientLibrary } from '../platform/http/client-library.js'
import { corsOptions } from '../platform/http/cors.js'
import { namedOrigins } from '../platform/http/cross-site.js'
import { warnAboutUntrustedProxy } from '../platform/http/forwarded-headers.js'
import { createHttpAdapter } from '../platform/http/http-adapter.js'
import { answerRetries } from '../platform/http/idempotency/idempotency.js'
import { IdempotentCalls } from '../platform/http/idempotency/idempotent-calls.service.js'
import { rejectDuringRestart } from '../platform/http/reject-during-restart.js'
import { type Infrastructure, MasterModule } from './master.module.js'
import { ClusterMembership } from '../platform/jobs/cluster-membership.js'
import { openRecordingAddresses, routeRecordingFiles } from '../recordings/api/recording-routes.js'
import { RecordingParts } from '../recordings/repository/recording-parts.js'
import { SignallingGateway } from '../signalling/gateway/signalling.gateway.js'

/** Creates the Nest application of a master with its routes; it is not initialized yet. */
export async function createApplication(
  infrastructure: Infrastructure,
  logger: ServiceLogger,
): Promise<NestFastifyApplication> {
  const { config, bus, lifecycle } = infrastructure
  const errors = new HttpErrorFilter(translateDatabaseError)
  const guard = new BasicAuthGuard(new BasicCredentials(config.SERVICE_SECRET))
  const adapter = createHttpAdapter({
    guard,
    errors,
    trustedProxies: config.SERVICE_TRUSTED_PROXIES,
    namedOrigins: namedOrigins(config.SERVICE_CORS_ORIGINS, config.SERVICE_PUBLICURL),
    open: openRecordingAddresses(config),
  })
  listenOnPrivilegedPort(adapter.getInstance().server, { host: config.SERVICE_HOST, port: config.SERVICE_PORT })
  rejectDuringRestart(adapter.getInstance(), lifecycle)
  await serveClientLibrary(adapter.getInstance())
  const app = await NestFactory.create<NestFastifyApplication>(MasterModule.forRoot(infrastructure), adapter, {
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
