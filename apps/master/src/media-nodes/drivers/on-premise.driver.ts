import { type LaunchedNode, type NodeDriver, NodeLaunchError } from '../driver/node-driver.js'

/** The operator starts and stops nodes: `autoscaling` events request nodes, statuses show which ones may end. */
export class OnPremiseDriver implements NodeDriver {
  readonly environment = 'on_premise'
  readonly startsNodes = false
  readonly sharesMachine = false

  launch(): Promise<LaunchedNode> {
    return Promise.reject(new NodeLaunchError('on premises the operator starts media nodes'))
  }

  drop(): Promise<void> {
    return Promise.resolve()
  }
}
