import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A session whose media was lost may leave the node that it was forced onto. */
export class MediaMoved1790000000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session ADD COLUMN media_moved boolean NOT NULL DEFAULT false')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN media_moved')
  }
}
