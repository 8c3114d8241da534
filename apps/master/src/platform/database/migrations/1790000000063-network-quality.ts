import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The measured network quality of publishers. */
export class NetworkQuality1790000000063 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection ADD COLUMN network_quality jsonb')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection DROP COLUMN network_quality')
  }
}
