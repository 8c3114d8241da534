import { DASHBOARD_PATH } from '@session-service/contract/dashboard'
import type { Access } from '../platform/authentication/access.js'
import type { AccessOf } from '../platform/http/access/require-access.js'

const API = '/service/api'
const OF_SESSION: Access = { session: 'path' }
const OF_RECORDING: Access = { session: 'recording' }
const OF_BODY: Access = { session: 'body' }
const OF_CREATED: Access = { session: 'created' }
const LIST: Access = { session: 'list' }

/** The routes of sessions and recordings, which the deprecated paths repeat. */
const commonRoutes = (prefix: string): Record<string, Access> => ({
  [`POST ${prefix}/sessions`]: OF_CREATED,
  [`GET ${prefix}/sessions`]: LIST,
  [`GET ${prefix}/sessions/:sessionId`]: OF_SESSION,
  [`DELETE ${prefix}/sessions/:sessionId`]: OF_SESSION,
  [`POST ${prefix}/sessions/:sessionId/connection`]: OF_SESSION,
  [`DELETE ${prefix}/sessions/:sessionId/connection/:connectionId`]: OF_SESSION,
  [`DELETE ${prefix}/sessions/:sessionId/stream/:streamId`]: OF_SESSION,
  [`POST ${prefix}/tokens`]: OF_BODY,
  [`POST ${prefix}/signal`]: OF_BODY,
  [`POST ${prefix}/recordings/start`]: OF_BODY,
  [`POST ${prefix}/recordings/stop/:recordingId`]: OF_RECORDING,
  [`GET ${prefix}/recordings`]: LIST,
  [`GET ${prefix}/recordings/:recordingId`]: OF_RECORDING,
  [`DELETE ${prefix}/recordings/:recordingId`]: OF_RECORDING,
})

/** The access that each route requires of the role of a credential, by its method and template. */
const ROUTE_ACCESS: Readonly<Record<string, Access>> = {
  ...commonRoutes(API),
  ...commonRoutes('/api'),
  [`GET ${API}/sessions/:sessionId/connection`]: OF_SESSION,
  [`GET ${API}/sessions/:sessionId/connection/:connectionId`]: OF_SESSION,
  [`PATCH ${API}/sessions/:sessionId/connection/:connectionId`]: OF_SESSION,
  [`GET ${API}/sessions/:sessionId/speech-to-text`]: OF_SESSION,
  [`POST ${API}/sessions/:sessionId/speech-to-text`]: OF_SESSION,
  [`DELETE ${API}/sessions/:sessionId/speech-to-text`]: OF_SESSION,
  [`GET ${API}/sessions/:sessionId/transcript`]: OF_SESSION,
  [`GET ${API}/sessions/:sessionId/transcript.vtt`]: OF_SESSION,
  [`GET ${API}/sessions/:sessionId/transcript.txt`]: OF_SESSION,
  [`GET ${API}/history/sessions`]: LIST,
  [`GET ${API}/history/sessions/:uniqueSessionId`]: OF_SESSION,
  [`DELETE ${API}/history/sessions/:uniqueSessionId`]: OF_SESSION,
  'GET /service/recordings/:id/:file': OF_RECORDING,
  [`GET ${API}/health`]: 'any',
  [`GET ${API}/docs`]: 'any',
  [`GET ${API}/docs/page.js`]: 'any',
  [`GET ${API}/docs/swagger-ui.css`]: 'any',
  [`GET ${API}/docs/swagger-ui-bundle.js`]: 'any',
  [`GET ${API}/docs/openapi.json`]: 'any',
  'GET /service/layouts/*': 'any',
  [`GET ${API}/transcripts`]: 'cluster',
  // Unique session ids of other sessions may start with the prefix.
  [`POST ${API}/speech-to-text/load`]: 'cluster',
  [`POST ${API}/speech-to-text/unload`]: 'cluster',
  'GET /service/cdr': 'cluster',
  'GET /service/cdr/:file': 'cluster',
  [`GET ${API}/webhook/dead-letters`]: 'cluster',
  [`DELETE ${API}/webhook/dead-letters`]: 'cluster',
  [`POST ${API}/webhook/dead-letters/replay`]: 'cluster',
  [`POST ${API}/webhook/dead-letters/:eventId/replay`]: 'cluster',
  [`DELETE ${API}/webhook/dead-letters/:eventId`]: 'cluster',
  [`GET ${API}/config`]: 'administration',
  'GET /config': 'administration',
  [`GET ${API}/config/overrides`]: 'administration',
  [`DELETE ${API}/config/overrides`]: 'administration',
  [`DELETE ${API}/config/overrides/:property`]: 'administration',
  [`POST ${API}/restart`]: 'administration',
  [`GET ${API}/media-nodes`]: 'administration',
  [`POST ${API}/media-nodes`]: 'administration',
  [`PUT ${API}/media-nodes`]: 'administration',
  [`GET ${API}/media-nodes/:mediaNodeId`]: 'administration',
  [`PATCH ${API}/media-nodes/:mediaNodeId`]: 'administration',
  [`DELETE ${API}/media-nodes/:mediaNodeId`]: 'administration',
  [`POST ${DASHBOARD_PATH}/sign-in`]: 'open',
  [`POST ${DASHBOARD_PATH}/sign-out`]: 'open',
  [`GET ${DASHBOARD_PATH}`]: 'open',
  [`GET ${DASHBOARD_PATH}/account`]: 'any',
  [`GET ${DASHBOARD_PATH}/search`]: 'any',
  // Each view has a requirement of its own.
  [`GET ${DASHBOARD_PATH}/live/:view`]: 'any',
  // Media nodes have a token for each part.
  'GET /service/internal/recordings/:id/:part/:file': 'open',
  'PUT /service/internal/recordings/:id/:part/:file': 'open',
}

/** The path of the client library contains its version; the files of the dashboard are those of its build. */
const FILES = /^\/service\/(?:client\/|dashboard\/[\w-]+(?:\.[\w-]+)+$)/

export const routeAccess: AccessOf = (method, template) => {
  const read = method === 'HEAD' ? 'GET' : method
  if (read === 'GET' && FILES.test(template)) return 'open'
  return ROUTE_ACCESS[`${read} ${template}`]
}
