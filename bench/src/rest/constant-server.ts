import 'reflect-metadata'
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  type ConnectionView,
  CreateConnectionBody,
  CreateSessionBody,
  describeIssues,
  type SessionView,
  UpdateConnectionBody,
} from '@session-service/contract'
import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Module,
  Param,
  Patch,
  Post,
} from '@nestjs/common'
import type { PipeTransform } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { z } from 'zod'
import { serveHelper } from '../helper/serve.js'
import { CONSTANT_SERVER } from './api.js'

const BODY_LIMIT_BYTES = 1_048_576

interface Answers {
  session: SessionView
  connection: ConnectionView
}
const ANSWERS = Symbol('answers')

const parsed = <T extends z.ZodType>(schema: T): PipeTransform<unknown, z.output<T>> => ({
  transform(value) {
    const result = schema.safeParse(value ?? {})
    if (!result.success) throw new BadRequestException(describeIssues(result.error).join('; '))
    return result.data
  },
})

@Controller('service/api/sessions')
class ConstantController {
  constructor(@Inject(ANSWERS) private readonly answers: Answers) {}

  @Post()
  @HttpCode(200)
  async createSession(@Body(parsed(CreateSessionBody)) _body: CreateSessionBody): Promise<SessionView> {
    return this.answers.session
  }

  @Post(':sessionId/connection')
  @HttpCode(200)
  async createConnection(
    @Param('sessionId') _sessionId: string,
    @Body(parsed(CreateConnectionBody)) _body: CreateConnectionBody,
  ): Promise<ConnectionView> {
    return this.answers.connection
  }

  @Get(':sessionId')
  async getSession(@Param('sessionId') _sessionId: string): Promise<SessionView> {
    return this.answers.session
  }

  @Get(':sessionId/connection/:connectionId')
  async getConnection(@Param('connectionId') _connectionId: string): Promise<ConnectionView> {
    return this.answers.connection
  }

  @Patch(':sessionId/connection/:connectionId')
  async changeConnection(
    @Param('connectionId') _connectionId: string,
    @Body(parsed(UpdateConnectionBody)) _body: UpdateConnectionBody,
  ): Promise<ConnectionView> {
    return this.answers.connection
  }

  @Delete(':sessionId/connection/:connectionId')
  @HttpCode(204)
  async deleteConnection(@Param('connectionId') _connectionId: string): Promise<void> {}

  @Delete(':sessionId')
  @HttpCode(204)
  async deleteSession(@Param('sessionId') _sessionId: string): Promise<void> {}
}

@Module({})
class ConstantModule {}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Does the same work for each call as the master's authentication. */
function protect(adapter: FastifyAdapter, secret: string): void {
  const expected = digest(`SERVICEAPP:${secret}`)
  adapter.getInstance().addHook('onRequest', async ({ headers }, reply) => {
    const [, encoded = ''] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(headers.authorization ?? '') ?? []
    if (timingSafeEqual(digest(Buffer.from(encoded, 'base64').toString('utf8')), expected)) return
    await reply.code(401).send({ message: 'the Authorization header is missing or wrong' })
  })
}

serveHelper(CONSTANT_SERVER, {
  listen: async ({ secret, session, connection }) => {
    const answers: Answers = { session, connection }
    const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT_BYTES })
    protect(adapter, secret)
    const module = {
      module: ConstantModule,
      controllers: [ConstantController],
      providers: [{ provide: ANSWERS, useValue: answers }],
    }
    const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { logger: ['error', 'warn'] })
    await app.listen(0, '127.0.0.1')
    return { url: await app.getUrl() }
  },
})
