export * from './account.js'
// Apart from the schemas: pages import them without zod.
export * from './constants.js'
export * from './queries.js'
export type * from './views.js'
