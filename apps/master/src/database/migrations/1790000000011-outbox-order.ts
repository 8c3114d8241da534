import type { MigrationInterface, QueryRunner } from 'typeorm'

/** An event may have to come after one with another key: what follows from the crash of a node, after the crash. */
export class OutboxOrder1790000000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox ADD COLUMN after_id text')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox DROP COLUMN after_id')
  }
}
