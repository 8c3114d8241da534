import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import type { Credential } from '../../authentication/basic-credentials.js'

/** The limits of an answer's content, by the credential of its request. */
export interface Viewer {
  /** Lists contain only sessions whose ids start with it. */
  prefix: string
  /** Tokens, credentials of ICE servers and addresses of cameras. */
  seesSecrets: boolean
}

/** Sees everything. */
export const FULL_VIEW: Viewer = { prefix: '', seesSecrets: true }

const viewerOf = (credential: Credential | null): Viewer =>
  credential ? { prefix: credential.prefix ?? '', seesSecrets: credential.role !== 'read-only' } : FULL_VIEW

/** The viewer of a request, for handlers of reads. */
export const RequestViewer = createParamDecorator((_: unknown, context: ExecutionContext): Viewer =>
  viewerOf(context.switchToHttp().getRequest<FastifyRequest>().credential),
)
