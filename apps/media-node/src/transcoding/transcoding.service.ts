import { availableParallelism } from 'node:os'
import { Logger, type OnModuleInit } from '@nestjs/common'
import { ServiceError, type Units } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { mediaProcessor } from '../native-program/programs.js'
import type { MediaService } from '../rooms/media.service.js'
import type { VideoCodec } from '../rooms/target-codec.js'
import type { Stream } from '../rooms/stream.js'
import type { Quality, Transcoder, TrackInUse, VideoToTranscode } from '../rooms/transcoder.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { canProcess } from '../media-processor/admission.js'
import { SharedTranscoding } from './shared-transcoding.js'

/** The codec and quality in which a video is encoded. */
type Encoding = `${VideoCodec} ${Quality}`

const encodingOf = ({ codec, quality }: VideoToTranscode): Encoding => `${codec} ${quality}`

/** Transcodes videos for the subscriptions that cannot decode or receive them: each video once per codec and quality. */
export class TranscodingService implements Transcoder, OnModuleInit {
  /** How long a video is transcoded without subscriptions, ms: clients come and go. */
  lingerMs = 3_000
  cores = availableParallelism()
  readonly #logger = new Logger(TranscodingService.name)
  readonly #transcodings = new Map<PublishedTrack, Map<Encoding, SharedTranscoding>>()
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
    if (mediaProcessor()) this.media.transcoder = this
    else this.#logger.warn('MEDIA_PROCESSOR_BIN names no program: this media node cannot transcode')
  }

  async acquire(wanted: VideoToTranscode): Promise<TrackInUse> {
    const { video } = wanted
    if (video.producer.closed) throw new ServiceError('NOT_FOUND', 'the track has ended', { subject: 'stream' })
    const shared = this.#transcodings.get(video)?.get(encodingOf(wanted)) ?? this.#open(wanted)
    return shared.acquire(wanted.maxKbps)
  }

  hasCapacity({ stream, quality }: Pick<VideoToTranscode, 'stream' | 'quality'>): boolean {
    const held = { rooms: this.media.rooms.size, ...this.media.counts, ...this.otherWork() }
    return this.#isTranscoding(stream, quality) || canProcess(held, 'transcodings', this.cores)
  }

  #open(wanted: VideoToTranscode): SharedTranscoding {
    const { stream, video, codec, quality } = wanted
    const { room } = stream.publisher
    const subject = { roomId: room.id, streamId: stream.id, codec, quality }
    if (!this.hasCapacity(wanted)) this.#refuse(subject)
    const shared = new SharedTranscoding({
      program: mediaProcessor() ?? '',
      wanted,
      lingerMs: this.lingerMs,
      onFailure: ({ cause, text }, failures) => {
        this.#failures.inc({ cause: 'failed' })
        this.#logger.warn({ ...subject, cause, failures }, `transcoding failed, will retry: ${text}`)
        if (quality === 'small' && failures > 1) room.smallFailed(stream)
      },
      onClosed: () => {
        room.count('transcodings', -1)
        const others = this.#transcodings.get(video)
        others?.delete(encodingOf(wanted))
        if (others?.size === 0) this.#transcodings.delete(video)
      },
    })
    room.count('transcodings', 1)
    const ofVideo = this.#transcodings.get(video) ?? new Map<Encoding, SharedTranscoding>()
    this.#transcodings.set(video, ofVideo.set(encodingOf(wanted), shared))
    return shared
  }

  /** A subscription to replaced tracks of the stream ends as soon as its client has subscribed to the new ones. */
  #isTranscoding(stream: Stream, quality: Quality): boolean {
    return [...this.#transcodings.values()].some((ofVideo) =>
      [...ofVideo.values()].some((each) => each.stream === stream && each.quality === quality),
    )
  }

  #refuse(subject: object): never {
    this.#failures.inc({ cause: 'refused' })
    this.#logger.warn(
      subject,
      'the media node has no capacity to transcode: subscribers receive audio only, or the original of a camera',
    )
    throw new ServiceError('NO_CAPACITY', 'the media node has no capacity to transcode the video')
  }
}
