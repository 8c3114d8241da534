// The pure part of placement, used by the simulation too.
export { PlacementLedger, type Report } from './placement-ledger.js'
export { type Candidate, selectNode } from './select-node.js'
