import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The events of the last hour. Unlogged: they need not outlive a crash of the database. */
export class RecentEvents1790000000090 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE recent_event (
        position bigserial CONSTRAINT recent_event_pk PRIMARY KEY,
        id text NOT NULL,
        name text NOT NULL,
        session_id text,
        payload text NOT NULL,
        created_at bigint NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX recent_event_session ON recent_event (session_id, position);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE recent_event')
  }
}
