import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Adds the driver's reports about the media nodes that it starts. Masters without these columns keep working. */
export class DrivenNodes1790000000062 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE media_node
        ADD COLUMN status_reason text,
        ADD COLUMN launch_duration integer,
        ADD COLUMN is_surge boolean NOT NULL DEFAULT false;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE media_node DROP COLUMN status_reason, DROP COLUMN launch_duration, DROP COLUMN is_surge
    `)
  }
}
