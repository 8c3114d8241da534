import type { MasterConfig } from '@session-service/config'
import type { HttpErrorFilter } from '@session-service/server-kit'
import type { FastifyInstance } from 'fastify'
import type { BasicAuthGuard } from '../../platform/authentication/basic-auth-guard.js'
import type { ClusterClock } from '../../platform/database/cluster-clock.js'
import { LayoutCookies } from '../layouts/layout-cookies.js'
import { LAYOUT_ADDRESS, serveLayouts } from '../layouts/layout-routes.js'
import { PartUploads } from '../storage/part-uploads.js'
import { RecordingFolders } from '../muxing/recording-folders.js'
import { RECORDING_ADDRESS, serveRecordings } from '../storage/serve-recordings.js'
import { takeUploads, UPLOAD_ADDRESS } from '../storage/upload-routes.js'
import { UploadTokens } from '../storage/upload-token.js'
import { signingSecrets } from '../../platform/authentication/signing-secrets.js'

interface Dependencies {
  gate: BasicAuthGuard
  errors: HttpErrorFilter
  clock: ClusterClock
  /** True when the part belongs to a recording that is not deleted. */
  hasPart: (part: number) => Promise<boolean>
}

/** The paths that need no credentials of the service. */
export function openRecordingAddresses(config: MasterConfig): RegExp[] {
  if (!config.SERVICE_RECORDING) return []
  const always = [UPLOAD_ADDRESS, LAYOUT_ADDRESS]
  return config.SERVICE_RECORDING_PUBLIC_ACCESS ? [...always, RECORDING_ADDRESS] : always
}

/** Routes that are not REST: uploads of media nodes, downloads of finished files, and custom layouts. */
export async function routeRecordingFiles(
  fastify: FastifyInstance,
  config: MasterConfig,
  { gate, errors, clock, hasPart }: Dependencies,
): Promise<void> {
  if (!config.SERVICE_RECORDING) return
  const folders = new RecordingFolders(config.SERVICE_RECORDING_PATH)
  const tokens = new UploadTokens(signingSecrets(config))
  await takeUploads(fastify, { uploads: new PartUploads(folders, hasPart), tokens, errors })
  await serveRecordings(fastify, { folders, errors })
  const cookies = new LayoutCookies(signingSecrets(config))
  await serveLayouts(fastify, { root: config.SERVICE_RECORDING_CUSTOM_LAYOUT, cookies, clock, gate, errors })
}
