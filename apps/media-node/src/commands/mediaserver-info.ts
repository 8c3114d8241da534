import { stat } from 'node:fs/promises'
import { Injectable } from '@nestjs/common'
import type { MediaserverInfo } from '@session-service/contract'
import { routerCodecs } from '../routers/codecs.js'
import { MEDIASOUP, WorkerPool } from '../workers/worker-pool.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { NodeIdentity } from '../node/identity.js'
import { VERSION } from '../node/version.js'

const CAPABILITIES = ['udp', 'tcp', 'ice-restart', 'simulcast', 'bandwidth-limits']
const MEDIASOUP_FACTORIES = ['Worker', 'WebRtcServer', 'Router', 'WebRtcTransport', 'Producer', 'Consumer']
const CODECS = [
  ...new Set(routerCodecs({ videoCodec: 'NONE', allowTranscoding: false }).map(({ mimeType }) => mimeType)),
]

const kib = (bytes: number): number => Math.round(bytes / 1024)

/** Describes the media server and its workers. */
@Injectable()
export class MediaserverInfoService {
  constructor(
    private readonly identity: NodeIdentity,
    private readonly pool: WorkerPool,
    private readonly recordings: RecordingsService,
    private readonly speech: SpeechToTextService,
  ) {}

  async describe(): Promise<MediaserverInfo> {
    return {
      memory: kib(process.memoryUsage.rss() + this.pool.memoryBytes + this.speech.memoryBytes),
      version: VERSION,
      capabilities: CAPABILITIES,
      modules: [
        {
          name: 'mediasoup',
          version: MEDIASOUP.version,
          generationTime: new Date(this.identity.launchedAt).toISOString(),
          factories: MEDIASOUP_FACTORIES,
        },
        { name: 'mediasoup-worker', ...(await this.#worker()), factories: [] },
      ],
      workers: [...this.pool.workers]
        .toSorted((one, other) => one.index - other.index)
        .map(({ worker, port, rooms, consumers, memoryBytes }) => ({
          pid: worker.pid,
          port,
          rooms,
          consumers,
          memory: kib(memoryBytes),
        })),
      codecs: CODECS,
      slots: { recording: this.recordings.slots, speechToText: this.speech.slots },
    }
  }

  /** The binary does not report its version; a separately built one has it in its file or folder name. */
  async #worker(): Promise<{ version: string; generationTime: string }> {
    const builtAt = await stat(MEDIASOUP.workerBin).then(
      ({ mtimeMs }) => mtimeMs,
      () => this.identity.launchedAt,
    )
    return {
      version: /mediasoup-worker-(\d+\.\d+\.\d+)/.exec(MEDIASOUP.workerBin)?.[1] ?? MEDIASOUP.version,
      generationTime: new Date(builtAt).toISOString(),
    }
  }
}
