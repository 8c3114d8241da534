import { ServiceError } from '@session-service/contract'
import { type AccountView, DASHBOARD_PATH, SignInBody } from '@session-service/contract/dashboard'
import { serviceClock } from '@session-service/server-kit'
import { Body, Controller, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn, SignInCookies } from '../../platform/authentication/sign-in-cookies.js'
import type { BasicAuthGuard } from '../../platform/authentication/basic-auth-guard.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { VERSION } from '../../platform/config/version.js'
import { sendError } from '../../platform/http/answers/errors.js'
import { parsed } from '../../platform/http/parsing/parsed.js'
import { SIGN_INS } from './dashboard.tokens.js'

/** Checks the secrets of sign-ins, and makes the cookies. */
export interface SignIns {
  guard: BasicAuthGuard
  cookies: SignInCookies
}

/** Signs operators in with a secret of the service, and out. */
@Controller(DASHBOARD_PATH.slice(1))
export class SignInController {
  constructor(
    @Inject(SIGN_INS) private readonly signIns: SignIns,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Post('sign-in')
  signIn(
    @Body(parsed(SignInBody)) { secret }: SignInBody,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): FastifyReply {
    const result = this.signIns.guard.signIn(secret, request.ip)
    if ('status' in result) {
      if (result.status === 429) void reply.header('retry-after', String(result.retryAfterSeconds))
      return sendError(request, reply, result.status, result.message)
    }
    const { signIn, header } = this.signIns.cookies.create(result, serviceClock.now())
    return reply.code(200).header('set-cookie', header).send(this.#account(signIn))
  }

  /** Needs no valid cookie: it removes an expired one as well. */
  @Post('sign-out')
  @HttpCode(204)
  signOut(@Res({ passthrough: true }) reply: FastifyReply): void {
    void reply.header('set-cookie', this.signIns.cookies.removal())
  }

  @Get('account')
  account(@Req() { signIn }: FastifyRequest): AccountView {
    if (!signIn) throw new ServiceError('NOT_ALLOWED', 'only a sign-in has an account')
    return this.#account(signIn)
  }

  #account({ credential: { name, role, prefix }, csrfToken, expiresAt }: SignIn): AccountView {
    const { config } = this
    return {
      credential: { name, role, ...(prefix !== undefined && { prefix }) },
      csrfToken,
      expiresAt,
      version: VERSION,
      edition: config.SERVICE_EDITION,
      features: {
        recording: config.SERVICE_RECORDING,
        history: config.SERVICE_HISTORY,
        webhook: config.SERVICE_WEBHOOK,
        networkQuality: config.SERVICE_PRO_NETWORK_QUALITY,
      },
      otherDashboard: config.SERVICE_PRO_DASHBOARD_HOST,
    }
  }
}
