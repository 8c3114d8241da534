import type { MigrationInterface, QueryRunner } from 'typeorm'

export class Outbox1790000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox (
        position bigserial CONSTRAINT outbox_pk PRIMARY KEY,
        id text NOT NULL,
        consumer text NOT NULL,
        session_key text NOT NULL,
        name text NOT NULL,
        payload text NOT NULL,
        created_at bigint NOT NULL,
        queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        attempts integer NOT NULL DEFAULT 0,
        next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        last_error text NOT NULL DEFAULT '',
        dead_at timestamptz,
        CONSTRAINT outbox_id UNIQUE (id, consumer)
      );
      CREATE INDEX outbox_due ON outbox (consumer, position) WHERE dead_at IS NULL;
      CREATE INDEX outbox_session ON outbox (consumer, session_key, position) WHERE dead_at IS NULL;
      CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE outbox')
  }
}
