/**
 * Rejects readings of the machine's wall clock, which may be set at any time: `Date.now()`, `new Date()` and `Date()`.
 * Where the wall clock is right, a comment switches the rule off for one line and gives the reason.
 */
const message =
  'The wall clock may step: use performance.now() for intervals, ClusterClock or serviceClock for points in time.'

const isDate = ({ type, name }) => type === 'Identifier' && name === 'Date'

const nowOf = ({ object, property, computed }) =>
  isDate(object) && (computed ? property.value === 'now' : property.name === 'now')

const noWallClock = {
  meta: { type: 'problem', docs: { description: 'no readings of the wall clock' } },
  create: (context) => ({
    MemberExpression: (node) => nowOf(node) && context.report({ node, message }),
    NewExpression: (node) => isDate(node.callee) && node.arguments.length === 0 && context.report({ node, message }),
    CallExpression: (node) => isDate(node.callee) && context.report({ node, message }),
  }),
}

export default { meta: { name: 'clock' }, rules: { 'no-wall-clock': noWallClock } }
