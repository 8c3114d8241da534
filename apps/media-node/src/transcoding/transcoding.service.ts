import { availableParallelism } from 'node:os'
import { Logger, type OnModuleInit } from '@nestjs/common'
import { ServiceError, type Units } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import type { MediaService } from '../rooms/media.service.js'
import type { VideoCodec } from '../rooms/target-codec.js'
import type { Stream } from '../rooms/stream.js'
import type { Transcoder, TrackInUse, VideoToTranscode } from '../rooms/transcoder.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { canTranscode } from './admission.js'
import { SharedTranscoding } from './shared-transcoding.js'

/** Transcodes videos for the subscriptions that cannot decode them: each video once per codec. */
export class TranscodingService implements Transcoder, OnModuleInit {
  /** How long a video is transcoded without subscriptions, ms: clients come and go. */
  lingerMs = 3_000
  cores = availableParallelism()
  readonly #logger = new Logger(TranscodingService.name)
  readonly #transcodings = new Map<PublishedTrack, Map<VideoCodec, SharedTranscoding>>()
  readonly #failures = metrics.counter('transcoding_failures_total', {
    help: 'Failures of video transcodings; refused: the node has no capacity',
    labels: { cause: ['failed', 'refused'] },
  })

  /** @param otherWork of the node, apart from its rooms */
  constructor(
    private readonly media: MediaService,
    private readonly otherWork: () => Units,
  ) {}

  onModuleInit(): void {
    if (process.env.MEDIA_PROCESSOR_BIN) this.media.transcoder = this
    else this.#logger.warn('MEDIA_PROCESSOR_BIN names no program: this media node cannot transcode')
  }

  async acquire(wanted: VideoToTranscode): Promise<TrackInUse> {
    const { video, codec } = wanted
    if (video.producer.closed) throw new ServiceError('NOT_FOUND', 'the track has ended', { subject: 'stream' })
    const shared = this.#transcodings.get(video)?.get(codec) ?? this.#open(wanted)
    return shared.acquire()
  }

  #open(wanted: VideoToTranscode): SharedTranscoding {
    const { stream, video, codec } = wanted
    const { room } = stream.publisher
    const subject = { roomId: room.id, streamId: stream.id, codec }
    if (!this.#isTranscoding(stream)) this.#admit(subject)
    const shared = new SharedTranscoding({
      program: process.env.MEDIA_PROCESSOR_BIN ?? '',
      wanted,
      lingerMs: this.lingerMs,
      onFailure: ({ cause, text }, failures) => {
        this.#failures.inc({ cause: 'failed' })
        this.#logger.warn({ ...subject, cause, failures }, `transcoding failed, will retry: ${text}`)
      },
      onClosed: () => {
        room.transcodingsChanged(-1)
        const others = this.#transcodings.get(video)
        others?.delete(codec)
        if (others?.size === 0) this.#transcodings.delete(video)
      },
    })
    room.transcodingsChanged(1)
    const ofVideo = this.#transcodings.get(video) ?? new Map<VideoCodec, SharedTranscoding>()
    this.#transcodings.set(video, ofVideo.set(codec, shared))
    return shared
  }

  /** A subscription to replaced tracks of the stream ends as soon as its client has subscribed to the new ones. */
  #isTranscoding(stream: Stream): boolean {
    return [...this.#transcodings.values()].some((ofVideo) =>
      [...ofVideo.values()].some((each) => each.stream === stream),
    )
  }

  #admit(subject: object): void {
    const held = { rooms: this.media.rooms.size, ...this.media.counts, ...this.otherWork() }
    if (canTranscode(held, this.cores)) return
    this.#failures.inc({ cause: 'refused' })
    this.#logger.warn(subject, 'the media node has no capacity to transcode: subscribers receive audio only')
    throw new ServiceError('NO_CAPACITY', 'the media node has no capacity to transcode the video')
  }
}
