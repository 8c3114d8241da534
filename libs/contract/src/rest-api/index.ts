export { DEPRECATED_ROUTES } from './deprecated-routes.js'
export type { AddMediaNodeQuery, NodeDetailsQuery, RemoveMediaNodeQuery } from './media-node-routes.js'
export { openApiDocument } from './openapi.js'
export { PATH_PARAMETERS, type PathParameter } from './parameters.js'
export type { Answer, Method, Route } from './route.js'
export {
  ConfigurationView,
  HealthView,
  type Operation,
  type PendingQuery,
  ROUTES,
  StartRecordingBody,
} from './routes.js'
