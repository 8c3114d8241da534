export type { BodyOf, CallOptions, QueryOf, ResultOf } from './call.js'
export { NoAnswerError, RestError } from './errors.js'
export { RestClient } from './rest-client.js'
export { type RestAnswer, type RestClientOptions, type RestRequest, Transport } from './transport.js'
