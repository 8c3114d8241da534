import type { MigrationInterface, QueryRunner } from 'typeorm'

/** When the last event of a session was, UTC ms: no later one is told with an earlier time, whichever master tells it. */
export class SessionTold1790000000023 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session ADD COLUMN told_at bigint NOT NULL DEFAULT 0')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN told_at')
  }
}
