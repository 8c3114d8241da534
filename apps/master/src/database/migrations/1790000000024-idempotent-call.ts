import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Calls that bear an `Idempotency-Key`, with what was answered. */
export class IdempotentCall1790000000024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotent_call (
        key text CONSTRAINT idempotent_call_pk PRIMARY KEY,
        request text NOT NULL,
        master_id text NOT NULL,
        claim text NOT NULL,
        asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        answer text
      );
      CREATE INDEX idempotent_call_age ON idempotent_call (asked_at);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotent_call')
  }
}
