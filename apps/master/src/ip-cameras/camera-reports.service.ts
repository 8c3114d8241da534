import { type CameraChange, CameraStatus } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { CameraRepository } from '../connections/camera.repository.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'

/** Takes what media nodes report about cameras. */
@Injectable()
export class CameraReports {
  readonly #logger = new Logger(CameraReports.name)
  readonly #changes = metrics.counter('camera_status_changes_total', {
    help: 'Changes of the status of cameras on the network, by the new status',
    labels: { status: CameraStatus.options },
  })

  constructor(
    private readonly cameras: CameraRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** Stores a change and notifies the clients, once. Reports are repeated, and may arrive late. */
  async changed(change: CameraChange): Promise<void> {
    const { roomId, connectionId, status, error } = change
    const stored = await this.cameras.apply(change)
    if (!stored) return
    this.#changes.inc({ status })
    const cause = error === null ? '' : `: ${error}`
    this.#logger.log({ connectionId }, `camera is ${status}${cause}`)
    if (stored.status !== 'active') return
    this.broadcast.notify(roomId, { method: 'cameraStatusChanged', params: { connectionId, status, error } })
  }
}
