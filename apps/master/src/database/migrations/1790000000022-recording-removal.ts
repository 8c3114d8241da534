import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A deleted recording keeps its row until its files are gone as well. */
export class RecordingRemoval1790000000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE recording ADD COLUMN removed_at timestamptz;
      CREATE INDEX recording_removed ON recording (removed_at) WHERE removed_at IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording DROP COLUMN removed_at')
  }
}
