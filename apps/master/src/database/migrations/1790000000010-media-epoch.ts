import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A session that lost its media node is placed anew: which placement a room belongs to. */
export class MediaEpoch1790000000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE session ADD COLUMN media_epoch integer NOT NULL DEFAULT 0;
      UPDATE session SET media_epoch = 1 WHERE media_node_id IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN media_epoch')
  }
}
