import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Crashes of a media node in a row, and until when placement on it is backed off, UTC ms. */
export class MediaNodeFlapping1790000000050 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE media_node ADD COLUMN crash_count integer NOT NULL DEFAULT 0, ADD COLUMN back_off_until bigint;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node DROP COLUMN back_off_until, DROP COLUMN crash_count')
  }
}
