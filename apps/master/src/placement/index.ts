// The pure part of placing sessions, for the simulation as well.
export { PlacementLedger, type Report } from './placement-ledger.js'
export { type Candidate, selectNode } from './select-node.js'
