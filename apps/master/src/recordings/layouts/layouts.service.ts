import { type RecordingJob, ServiceError, SIGNALLING_PATH } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { ConnectionsService } from '../../connections/connections.service.js'
import { type LayoutAddress, layoutAddress } from './layout-address.js'
import { LayoutCookies } from './layout-cookies.js'
import { openLayoutFile } from './layout-file.js'
import { LAYOUTS_PATH } from './layout-routes.js'
import { signingSecrets } from '../../platform/authentication/signing-secrets.js'

type LayoutPage = Extract<RecordingJob['output'], { kind: 'CUSTOM' }>['page']

const INDEX = 'index.html'

/** Resolves the pages of recordings with the layout CUSTOM. */
@Injectable()
export class LayoutsService {
  readonly #cookies: LayoutCookies

  constructor(
    private readonly connections: ConnectionsService,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#cookies = new LayoutCookies(signingSecrets(config))
  }

  /** @throws ServiceError INVALID for a layout that does not exist or that the operator has not allowed */
  async require(customLayout: string): Promise<LayoutAddress> {
    const address = layoutAddress(customLayout, this.config.SERVICE_RECORDING_LAYOUT_HOSTS)
    if (address.kind === 'other') return address
    const index = await openLayoutFile(this.config.SERVICE_RECORDING_CUSTOM_LAYOUT, indexOf(address.folder))
    await index?.handle.close()
    if (index) return address
    throw new ServiceError('INVALID', `customLayout: there is no ${indexOf(address.folder)} in the folder of layouts`)
  }

  /** The page for a recorder, with a token that joins the session once, and a cookie for the files of the layout. */
  async page(sessionId: string, customLayout: string): Promise<LayoutPage> {
    const address = await this.require(customLayout)
    const base = this.config.SERVICE_RECORDING_UPLOAD_URL.replace(/\/$/, '')
    const secret = await this.connections.expectRecorder(sessionId)
    const socketUrl = base.replace(/^http/, 'ws') + SIGNALLING_PATH
    const token = `${socketUrl}?sessionId=${sessionId}&token=${secret}`
    if (address.kind === 'other') return { url: address.url, token }
    const { folder } = address
    const path = `${new URL(base).pathname.replace(/\/$/, '')}${LAYOUTS_PATH}${folder === '' ? '' : `${folder}/`}`
    const cookie = this.#cookies.of(LAYOUTS_PATH + (folder === '' ? '' : `${folder}/`), this.clock.now())
    return { url: `${base}${LAYOUTS_PATH}${indexOf(folder)}`, token, cookie: { ...cookie, path } }
  }
}

const indexOf = (folder: string): string => (folder === '' ? INDEX : `${folder}/${INDEX}`)
