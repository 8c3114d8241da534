import { Injectable, Logger } from '@nestjs/common'
import { NodeLaunchService } from '../media-nodes/node-launch.service.js'
import { NodeLossService } from './node-loss.service.js'
import { NodeOrdersService } from './node-orders.service.js'

/** What one master does for the media nodes every so often. */
@Injectable()
export class NodeUpkeepService {
  private readonly logger = new Logger(NodeUpkeepService.name)

  constructor(
    private readonly loss: NodeLossService,
    private readonly orders: NodeOrdersService,
    private readonly launches: NodeLaunchService,
  ) {}

  async run(now: number): Promise<void> {
    await this.attempt('losses', () => this.loss.upkeep(now))
    await this.attempt('orders', () => this.orders.upkeep(now))
    await this.attempt('launches', () => this.launches.upkeep())
  }

  forgetGone(): Promise<void> {
    return this.orders.forgetGone()
  }

  /** What cannot be done now holds up nothing else, and is done next time. */
  private async attempt(what: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) =>
      this.logger.warn({ err: error }, `not all ${what} of media nodes were seen to`),
    )
  }

  forgetSilence(): void {
    this.loss.forgetSilence()
  }
}
