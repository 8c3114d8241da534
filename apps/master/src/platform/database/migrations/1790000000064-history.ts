import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Ended sessions, and the records of live ones. Rows do not refer to sessions, which they outlive. */
export class History1790000000064 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE session_history (
        unique_session_id text CONSTRAINT session_history_pk PRIMARY KEY,
        session_id text NOT NULL,
        custom_session_id text NOT NULL,
        created_at bigint NOT NULL,
        destroyed_at bigint NOT NULL,
        duration integer NOT NULL,
        reason text NOT NULL,
        media_mode text,
        recording_mode text,
        media_node_id text,
        number_of_users integer NOT NULL,
        number_of_connections integer NOT NULL,
        number_of_recordings integer NOT NULL,
        details jsonb NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX session_history_end ON session_history (destroyed_at, unique_session_id);
      CREATE INDEX session_history_session ON session_history (session_id, destroyed_at, unique_session_id);
      CREATE INDEX session_history_age ON session_history (stored_at);
      CREATE TABLE session_record (
        position bigint CONSTRAINT session_record_pk PRIMARY KEY,
        unique_session_id text NOT NULL,
        name text NOT NULL,
        payload jsonb NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX session_record_session ON session_record (unique_session_id, position);
      CREATE INDEX session_record_age ON session_record (stored_at);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE session_record; DROP TABLE session_history')
  }
}
