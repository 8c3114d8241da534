import { CSRF_HEADER, DASHBOARD_PATH } from '@session-service/contract/dashboard'
import { serviceClock } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BasicAuthGuard, Refusal } from '../../authentication/basic-auth-guard.js'
import type { Credential } from '../../authentication/basic-credentials.js'
import { isCsrfToken, type SignIn } from '../../authentication/sign-in-cookies.js'
import { SAFE_METHODS } from '../origins/cross-site.js'
import { sendError } from '../answers/errors.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The credential of the request; null on paths that need none. */
    credential: Credential | null
    /** The sign-in of the cookie that authenticates the request; null with other credentials. */
    signIn: SignIn | null
  }
}

const CHALLENGE = 'Basic realm="service", charset="UTF-8"'

/** Needs no credentials: the client library, also by version. Other spellings of these paths need credentials. */
const PUBLIC = /^\/service\/client\/(\d+\.\d+\.\d+-[0-9a-f]{12}\/)?[A-Za-z0-9._-]+(\?|$)/

/** Checks the credentials first, on all paths except those that are open, and adds the request id to all answers. */
export function protect(fastify: FastifyInstance, guard: BasicAuthGuard, open: readonly RegExp[] = []): void {
  fastify.decorateRequest('credential', null)
  fastify.decorateRequest('signIn', null)
  const addresses = [PUBLIC, ...open]
  // The first hook is asynchronous: Node may yet find what it has received of the request invalid, and answers with 400.
  fastify.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id)
    const isOpen = addresses.some((address) => address.test(request.url))
    if (request.method === 'OPTIONS' || isOpen) return undefined
    return refuse(guard, request, reply) ? reply : undefined
  })
}

/** Answers a request without valid credentials; returns whether it did. */
export function refuse(guard: BasicAuthGuard, request: FastifyRequest, reply: FastifyReply): boolean {
  const result = authenticate(guard, request)
  if (!('status' in result)) {
    request.credential = result.credential
    request.signIn = result.signIn
    return refuseForgery(request, reply)
  }
  if (result.status === 429) void reply.header('retry-after', String(result.retryAfterSeconds))
  else if (!isOfPage(guard, request)) void reply.header('www-authenticate', CHALLENGE)
  sendError(request, reply, result.status, result.message)
  return true
}

interface Authenticated {
  credential: Credential
  signIn: SignIn | null
}

/**
 * Browsers add stored Basic credentials by themselves. For requests of the dashboard its cookie takes precedence, so
 * that they have the role that the operator chose; otherwise the Authorization header does.
 */
function authenticate(guard: BasicAuthGuard, request: FastifyRequest): Authenticated | Refusal {
  const { authorization, cookie } = request.headers
  const usesCookie = authorization === undefined || isOfDashboard(request)
  const signIn = usesCookie ? guard.signIns?.find(cookie, serviceClock.now()) : undefined
  if (signIn) return { credential: signIn.credential, signIn }
  const result = guard.authenticate(authorization, request.ip)
  return 'status' in result ? result : { credential: result, signIn: null }
}

/** Answers 403 to a request with side effects whose cookie may have been sent for another page. */
function refuseForgery(request: FastifyRequest, reply: FastifyReply): boolean {
  const { signIn, headers, method } = request
  if (!signIn || SAFE_METHODS.has(method) || isCsrfToken(signIn, headers[CSRF_HEADER])) return false
  sendError(request, reply, 403, `${CSRF_HEADER}: must be the csrfToken of the account`)
  return true
}

const isOfDashboard = ({ url, headers }: FastifyRequest): boolean =>
  url.startsWith(`${DASHBOARD_PATH}/`) || headers[CSRF_HEADER] !== undefined

/** Whether the dashboard sent the request. A challenge would make the browser ask for credentials in its own dialog. */
const isOfPage = ({ signIns }: BasicAuthGuard, request: FastifyRequest): boolean =>
  signIns !== undefined && (isOfDashboard(request) || signIns.isSent(request.headers.cookie))
