import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The positions in recorded traces at which connections were created and events written. */
export class TraceContexts1790000000080 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection ADD COLUMN trace_context text')
    await runner.query('ALTER TABLE outbox ADD COLUMN trace_context text')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox DROP COLUMN trace_context')
    await runner.query('ALTER TABLE connection DROP COLUMN trace_context')
  }
}
