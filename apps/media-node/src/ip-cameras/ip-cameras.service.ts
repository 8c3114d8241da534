import { ServiceError, type CameraSource, type NodeCommandCall } from '@session-service/contract'
import type { NodeConfig } from '@session-service/config'
import { ReportSender } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { cameraReader } from '../native-program/programs.js'
import { NODE_CONFIG } from '../node/node-state.js'
import { MediaService, roomClosed, type Answer, type CameraCommand, type Commands } from '../rooms/media.service.js'
import type { Room } from '../rooms/room.js'
import { checkCameraAddress, type CheckedAddress } from './camera-address.js'
import { CAMERA_CAUSES, type CameraAddress } from './camera-program.js'
import { Camera, type CameraEnvironment } from './camera.js'

/** The cameras on the network that this node reads. */
@Injectable()
export class IpCamerasService implements Commands<CameraCommand> {
  /** How long a camera is read without a receiver, ms: clients subscribe soon, and come and go. */
  idleMs = 5_000
  readonly #logger = new Logger(IpCamerasService.name)
  readonly #failures = metrics.counter('camera_failures_total', {
    help: 'Failed attempts to read a camera on the network, by cause',
    labels: { cause: CAMERA_CAUSES },
  })

  constructor(
    @Inject(NODE_CONFIG) private readonly config: NodeConfig,
    private readonly media: MediaService,
    @Inject(ReportSender) private readonly reports: Pick<ReportSender, 'send'>,
  ) {}

  startCamera(call: NodeCommandCall<'startCamera'>): Answer<'startCamera'> {
    const program = cameraReader()
    if (!program) throw new ServiceError('DISABLED', 'the media node cannot read cameras: CAMERA_BIN names no program')
    return this.media.inOrder(call, async () => {
      const checked = await checkCameraAddress(call.source.uri, call.source.allowedAddresses)
      const room = await this.media.rooms.open(call, call)
      room.leave(call.connectionId, { isReplaced: true })
      // A camera whose tracks are not known is read at once.
      const environment = this.#environment(room, call, program, call.tracks ? undefined : checked)
      const { camera, tracks } = await Camera.open(room, call, environment).catch((error: unknown) => {
        throw room.closed ? roomClosed(room.id) : error
      })
      if (room.closed) {
        camera.close()
        throw roomClosed(room.id)
      }
      room.enterCamera(camera)
      camera.entered()
      if (call.filter) this.media.filters?.begin(room.stream(call.streamId), call.filter)
      return tracks
    })
  }

  #address(
    { networkCache, adaptativeBitrate }: CameraSource,
    { uri, hosts, user, password, allow }: CheckedAddress,
  ): CameraAddress {
    const { config } = this
    const trust = config.MEDIA_NODE_CAMERA_TLS_VERIFY ? config.MEDIA_NODE_CAMERA_CA_FILE : 'all'
    return {
      uri,
      hosts,
      user,
      password,
      allow,
      transport: config.MEDIA_NODE_CAMERA_TRANSPORT,
      timeoutMs: config.MEDIA_NODE_CAMERA_TIMEOUT,
      cacheMs: networkCache,
      ...(config.MEDIA_NODE_CAMERA_FILES && { files: config.MEDIA_NODE_CAMERA_FILES }),
      ...(trust && { trust }),
      ...(!adaptativeBitrate && { copiesVideo: true }),
    }
  }

  /** Resolves the name of the camera before each attempt: it may have another address. `checked`: for the first one. */
  #environment(
    room: Room,
    call: NodeCommandCall<'startCamera'>,
    program: string,
    checked: CheckedAddress | undefined,
  ): CameraEnvironment {
    const { id: roomId, epoch } = room
    const { source } = call
    let next = checked
    return {
      program,
      idleMs: this.idleMs,
      address: async () => {
        const address = next ?? (await checkCameraAddress(source.uri, source.allowedAddresses))
        next = undefined
        return this.#address(source, address)
      },
      onChange: (change) => {
        const camera = { roomId, epoch, ...change }
        void this.reports.send({ kind: 'cameraChanged', camera })
      },
      onFailure: ({ cause, text }, isNewReason) => {
        this.#failures.inc({ cause })
        // A camera that is switched off is tried again for days.
        if (isNewReason) this.#logger.warn({ roomId, connectionId: call.connectionId }, text)
      },
    }
  }
}
