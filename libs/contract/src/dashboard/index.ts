export * from './account.js'
export * from './queries.js'
export type * from './views.js'
