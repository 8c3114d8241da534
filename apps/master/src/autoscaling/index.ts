export { plan } from './plan.js'
export { trendOf } from './forecast.js'
export { adding, removing } from './scaling-order.js'
export * from './scaling.types.js'
