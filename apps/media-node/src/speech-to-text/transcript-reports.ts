import { poll } from '@session-service/server-kit'
import type { TranscriptSentence } from '@session-service/contract'
import { Bus, ReportSender } from '@session-service/messaging'
import { Injectable, type OnModuleDestroy } from '@nestjs/common'
import { NodeIdentity } from '../node/identity.js'

/** Sentences that wait for a master. They have a queue of their own, so that they never displace other reports. */
const MAX_PENDING = 10_000
/** How long the shutdown waits for pending sentences, ms. */
const FLUSH_MS = 2_000
const FLUSH_CHECK_MS = 50

/** Reports recognized sentences to the masters for transcripts, at least once. */
@Injectable()
export class TranscriptReports implements OnModuleDestroy {
  readonly #reports: ReportSender

  constructor(bus: Bus, { nodeId, bootId }: NodeIdentity) {
    this.#reports = new ReportSender(bus, { nodeId, bootId, limit: MAX_PENDING })
  }

  /** Never rejects: a full queue is logged. */
  send(roomId: string, sentence: TranscriptSentence): void {
    void this.#reports.send({ kind: 'sentenceRecognized', roomId, sentence })
  }

  async onModuleDestroy(): Promise<void> {
    await poll(() => this.#reports.pending === 0, { everyMs: FLUSH_CHECK_MS, timeoutMs: FLUSH_MS })
    this.#reports.close()
  }
}
