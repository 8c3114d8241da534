import type { MigrationInterface, QueryRunner } from 'typeorm'

/** When any of the masters heard a media node last, UTC ms: one that is cut off from it alone is not to say that it is lost. */
export class MediaNodeHeard1790000000027 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node ADD COLUMN heard_at bigint NOT NULL DEFAULT 0')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node DROP COLUMN heard_at')
  }
}
