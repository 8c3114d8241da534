import type { MigrationInterface, QueryRunner } from 'typeorm'

/** What a finished file really has, which may be less than was asked for. */
export class RecordingContents1790000000025 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording ADD COLUMN has_audio boolean, ADD COLUMN has_video boolean')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE recording DROP COLUMN has_audio, DROP COLUMN has_video')
  }
}
