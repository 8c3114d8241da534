import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Limits of sessions, and the time at which a session with a maximum duration ends. */
export class SessionLimits1790000000070 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE session ADD COLUMN max_participants integer, ADD COLUMN max_streams integer,
        ADD COLUMN max_duration integer, ADD COLUMN ends_at timestamptz;
      CREATE INDEX session_ends_at ON session (ends_at) WHERE ends_at IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX session_ends_at;
      ALTER TABLE session DROP COLUMN max_participants, DROP COLUMN max_streams, DROP COLUMN max_duration,
        DROP COLUMN ends_at;
    `)
  }
}
