import { describeIssues, ServiceError } from '@session-service/contract'
import { DASHBOARD_PATH, LIVE_VIEWS, type LiveQuery, type LiveViewName } from '@session-service/contract/dashboard'
import { serviceClock } from '@session-service/server-kit'
import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LiveViewStreams } from './live/live-view-streams.service.js'
import { rightsOf, viewRefusal } from './views/rights.js'

const isView = (name: string): name is LiveViewName => Object.hasOwn(LIVE_VIEWS, name)

/** Live streams do not count as requests of their credential. */
export const LIVE_ADDRESS = /^\/service\/dashboard\/live\//

/** @throws ServiceError for a view that does not exist, and for wrong parameters */
function parseView(name: string, given: unknown): { view: LiveViewName; query: LiveQuery } {
  if (!isView(name)) throw new ServiceError('NOT_FOUND', 'there is no such view')
  const result = LIVE_VIEWS[name].safeParse(given)
  if (!result.success) throw new ServiceError('INVALID', describeIssues(result.error).join('; '))
  return { view: name, query: result.data }
}

/** Streams of server-sent events with the views of the dashboard. */
@Controller(`${DASHBOARD_PATH.slice(1)}/live`)
export class LiveController {
  constructor(private readonly streams: LiveViewStreams) {}

  @Get(':view')
  open(
    @Param('view') name: string,
    @Query() given: unknown,
    @Req() { method, credential, signIn }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): FastifyReply {
    const { view, query } = parseView(name, given)
    if (!credential) throw new ServiceError('NOT_ALLOWED', 'live views need credentials')
    const refusal = viewRefusal(view, query, credential)
    if (refusal !== undefined) throw new ServiceError('NOT_ALLOWED', refusal)
    const lifetimeMs = signIn ? signIn.expiresAt - serviceClock.now() : undefined
    const rights = rightsOf(credential)
    const stream = method === 'HEAD' ? '' : this.streams.open({ view, query, rights }, lifetimeMs)
    return (
      reply
        .type('text/event-stream')
        .header('cache-control', 'no-store, no-transform')
        // A connection that becomes idle during a shutdown would delay it until its time-out.
        .header('connection', 'close')
        // For nginx, which otherwise collects answers before it sends them.
        .header('x-accel-buffering', 'no')
        .send(stream)
    )
  }
}
