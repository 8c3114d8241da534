import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A master knows from them how long a media node may be silent whose heartbeats only others receive. */
export class HeartbeatIntervals1790000000095 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node ADD COLUMN heartbeat_interval integer NOT NULL DEFAULT 500')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node DROP COLUMN heartbeat_interval')
  }
}
