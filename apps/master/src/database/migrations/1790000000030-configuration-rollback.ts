import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Which overrides each restart served with, so that masters can return to them, and which restart each master serves. */
export class ConfigurationRollback1790000000030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE restart
        ADD COLUMN overrides jsonb,
        ADD COLUMN served_at bigint,
        ADD COLUMN rollback jsonb;
      ALTER TABLE master ADD COLUMN generation bigint;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE master DROP COLUMN generation;
      ALTER TABLE restart DROP COLUMN overrides, DROP COLUMN served_at, DROP COLUMN rollback;
    `)
  }
}
