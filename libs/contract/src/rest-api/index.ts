export { DEPRECATED_ROUTES } from './deprecated-routes.js'
export { openApiDocument } from './openapi.js'
export type { Answer, Method, Route } from './route.js'
export { ConfigurationView, HealthView, type Operation, ROUTES, StartRecordingBody } from './routes.js'
