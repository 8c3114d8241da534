import type { NodeFact, NodeFactAnswer } from '@session-service/contract'
import { BusController } from '@session-service/messaging'
import { MessagePattern, Payload } from '@nestjs/microservices'
import { RecordingWork } from '../recordings/recording-work.service.js'
import { NodeLossService } from './node-loss.service.js'

/** `bus/bindings.ts` says on which subject. */
export const FACT_PATTERN = 'fact'

@BusController()
export class MediaNodesBus {
  constructor(
    private readonly loss: NodeLossService,
    private readonly recordings: RecordingWork,
  ) {}

  @MessagePattern(FACT_PATTERN)
  async fact(@Payload() fact: NodeFact): Promise<NodeFactAnswer> {
    if (fact.kind !== 'recordingEnded') return this.loss.take(fact)
    await this.recordings.partEnded(fact.ended)
    return { dropRoomIds: [] }
  }
}
