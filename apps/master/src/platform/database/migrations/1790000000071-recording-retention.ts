import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The announced time at which the retention deletes a recording. */
export class RecordingRetention1790000000071 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE recording ADD COLUMN removal_at timestamptz;
      CREATE INDEX recording_removal_at ON recording (removal_at) WHERE removal_at IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX recording_removal_at; ALTER TABLE recording DROP COLUMN removal_at')
  }
}
