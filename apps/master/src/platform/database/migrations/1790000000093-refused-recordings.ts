import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Whether the automatic recording of a session was refused, which has one event. */
export class RefusedRecordings1790000000093 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session ADD COLUMN recording_refused boolean NOT NULL DEFAULT false')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN recording_refused')
  }
}
