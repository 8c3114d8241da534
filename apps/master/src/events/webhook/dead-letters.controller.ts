import { type DeadLetterListView, ServiceError } from '@session-service/contract'
import { Controller, Delete, Get, HttpCode, Post } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import { DeadLetterRepository } from './dead-letter.repository.js'
import { WebhookQueueRepository } from './webhook-queue.repository.js'
import { WebhookSender } from './webhook-sender.service.js'

/** Events that were given up: list, replay and delete them. */
@Controller(`${API_PREFIX}/webhook/dead-letters`)
export class DeadLettersController {
  constructor(
    private readonly letters: DeadLetterRepository,
    private readonly queue: WebhookQueueRepository,
    private readonly sender: WebhookSender,
  ) {}

  /** The oldest thousand; `numberOfElements` counts all. */
  @Get()
  async list(): Promise<DeadLetterListView> {
    const [content, numberOfElements] = await Promise.all([this.letters.oldest(), this.queue.dead()])
    return { numberOfElements, content }
  }

  @Post('replay')
  @HttpCode(200)
  async replayAll(): Promise<{ replayed: number }> {
    const replayed = await this.letters.replay()
    this.sender.poll()
    return { replayed }
  }

  @Post(':eventId/replay')
  @HttpCode(200)
  async replay(@PathParam('eventId') id: string): Promise<{ replayed: number }> {
    const replayed = found(await this.letters.replay(id), id)
    this.sender.poll()
    return { replayed }
  }

  @Delete()
  @HttpCode(204)
  async purgeAll(): Promise<void> {
    await this.letters.purge()
  }

  @Delete(':eventId')
  @HttpCode(204)
  async purge(@PathParam('eventId') id: string): Promise<void> {
    found(await this.letters.purge({ id }), id)
  }
}

function found(count: number, id: string): number {
  if (count === 0) throw new ServiceError('NOT_FOUND', `no dead letter with the id ${id}`)
  return count
}
