import type { MigrationInterface, QueryRunner } from 'typeorm'

/** When any of the masters heard a media node last, UTC ms, and how many each hears: one that is cut off is not to say that they are lost. */
export class MediaNodeHeard1790000000027 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE media_node ADD COLUMN heard_at bigint NOT NULL DEFAULT 0;
      ALTER TABLE master ADD COLUMN nodes_heard integer NOT NULL DEFAULT 0;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE master DROP COLUMN nodes_heard; ALTER TABLE media_node DROP COLUMN heard_at')
  }
}
