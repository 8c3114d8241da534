import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A publisher that was not notified that others have ended its stream published it again after a loss of its media. */
export class EndedStreams1790000000098 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection ADD COLUMN ended_streams jsonb')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection DROP COLUMN ended_streams')
  }
}
