import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Recordings that were finished once more, with files of a node that had been given up. */
export class RecordingRecovered1790000000055 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording ADD COLUMN is_recovered boolean NOT NULL DEFAULT false')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording DROP COLUMN is_recovered')
  }
}
