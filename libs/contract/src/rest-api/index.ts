export { DEPRECATED_ROUTES } from './deprecated-routes.js'
export type { AddMediaNodeQuery, NodeDetailsQuery, RemoveMediaNodeQuery } from './media-node-routes.js'
export { openApiDocument } from './openapi.js'
export { PATH_PARAMETERS, type PathParameter } from './parameters.js'
export type { Answer, Method, Route } from './route.js'
export { HISTORY_PAGE, type HistoryQuery } from './history-routes.js'
export { ConfigurationView } from './configuration-routes.js'
export {
  HealthView,
  type Operation,
  type PendingQuery,
  ROUTES,
  type SessionsQuery,
  StartRecordingBody,
} from './routes.js'
export {
  type SearchTranscriptsQuery,
  type SessionTranscriptQuery,
  TRANSCRIPT_PAGE,
  type TranscriptFileQuery,
} from './transcript-routes.js'
