import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Which media nodes the cluster has, and how each of them does. */
export class MediaNode1790000000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE media_node (
        id text CONSTRAINT media_node_pk PRIMARY KEY,
        environment_id text NOT NULL DEFAULT '',
        ip text NOT NULL DEFAULT '',
        uri text NOT NULL DEFAULT '',
        version text NOT NULL DEFAULT '',
        status text NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        boot_id text,
        launching_time bigint NOT NULL,
        connection_time bigint,
        disconnected_at bigint,
        crash_event_id text,
        drain_deadline bigint
      );
      CREATE INDEX media_node_order ON media_node (launching_time, id);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE media_node')
  }
}
