import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { execute, firstRow, type Queryable } from '../platform/database/sql.js'

export interface NodeRequest {
  /** The number of nodes that were to start. */
  count: number
  /** The ids of the nodes that were present. */
  nodeIds: string[]
  /** Time since the request by the clock of the database. */
  ageMs: number
}

/**
 * The last request of media nodes from the operator. It is stored with its decision, so that a new leader does not repeat
 * it. Hand-written: ages are computed by the clock of the database.
 */
@Injectable()
export class NodeRequestRepository {
  constructor(private readonly dataSource: DataSource) {}

  last(): Promise<NodeRequest | undefined> {
    return firstRow<NodeRequest>(
      this.dataSource,
      `SELECT count, node_ids AS "nodeIds",
              (extract(epoch FROM clock_timestamp() - requested_at) * 1000)::float8 AS "ageMs" FROM node_request`,
    )
  }

  async store(manager: Queryable, { count, nodeIds }: Omit<NodeRequest, 'ageMs'>): Promise<void> {
    await execute(
      manager,
      `INSERT INTO node_request (count, node_ids) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET count = excluded.count, node_ids = excluded.node_ids,
         requested_at = excluded.requested_at`,
      [count, nodeIds],
    )
  }
}
