import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The last request of media nodes from the operator. Masters without this table keep working. */
export class NodeRequests1790000000094 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE node_request (
      id boolean CONSTRAINT node_request_pk PRIMARY KEY DEFAULT true,
      count integer NOT NULL,
      node_ids text[] NOT NULL,
      requested_at timestamptz NOT NULL DEFAULT clock_timestamp())`)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE node_request')
  }
}
