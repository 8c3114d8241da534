import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Whether a media node has ended because it did not reconnect in time. Masters without this column keep working. */
export class GivenUpNodes1790000000092 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node ADD COLUMN is_given_up boolean NOT NULL DEFAULT false')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE media_node DROP COLUMN is_given_up')
  }
}
