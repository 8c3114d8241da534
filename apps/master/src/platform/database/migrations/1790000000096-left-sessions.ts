import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A session that a client has left while others joined ends when their joins fail. Masters without it keep working. */
export class LeftSessions1790000000096 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session ADD COLUMN was_left boolean NOT NULL DEFAULT false')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN was_left')
  }
}
