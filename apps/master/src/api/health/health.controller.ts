import type { ClusterHealth, HealthStatus, MasterHealth } from '@session-service/contract'
import { Controller, Get, Logger, Res } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { Paid } from '../../platform/config/edition.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { HealthService } from './health.service.js'

const HTTP_STATUS: Record<HealthStatus, number> = { UP: 200, UNSTABLE: 409, DOWN: 503 }

@Controller(`${API_PREFIX}/health`)
@Paid()
export class HealthController {
  readonly #logger = new Logger(HealthController.name)

  constructor(private readonly health: HealthService) {}

  /** Answers 503 with the contract's body when the health check itself fails, never 500. */
  @Get()
  async get(@Res({ passthrough: true }) reply: FastifyReply): Promise<MasterHealth | ClusterHealth> {
    try {
      const { status, body } = await this.health.overall()
      void reply.code(HTTP_STATUS[status])
      return body
    } catch (error) {
      this.#logger.error({ err: error }, 'the health check failed')
      void reply.code(HTTP_STATUS.DOWN)
      return { status: 'DOWN', disconnectedMediaNodes: [] }
    }
  }
}
