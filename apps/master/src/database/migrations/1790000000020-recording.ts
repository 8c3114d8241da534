import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Recordings and their parts; and whether a session that is always recorded has begun to be. */
export class Recording1790000000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE recording (
        id text CONSTRAINT recording_pk PRIMARY KEY,
        session_id text NOT NULL,
        unique_session_id text NOT NULL,
        status text NOT NULL,
        created_at bigint NOT NULL,
        properties jsonb NOT NULL,
        is_automatic boolean NOT NULL DEFAULT false,
        size bigint NOT NULL DEFAULT 0,
        duration double precision NOT NULL DEFAULT 0,
        file text,
        stop_reason text,
        media_node_id text NOT NULL,
        autostop_at timestamptz,
        changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        claimed_by text,
        claimed_until timestamptz,
        attempts integer NOT NULL DEFAULT 0
      );
      CREATE INDEX recording_order ON recording (created_at, id);
      CREATE INDEX recording_session ON recording (session_id);
      CREATE UNIQUE INDEX recording_live ON recording (unique_session_id) WHERE status IN ('starting', 'started');
      CREATE INDEX recording_unsettled ON recording (status) WHERE status IN ('starting', 'started', 'stopped');
      CREATE TABLE recording_part (
        part bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT recording_part_pk PRIMARY KEY,
        recording_id text NOT NULL CONSTRAINT recording_part_recording_fk REFERENCES recording(id) ON DELETE CASCADE,
        node_id text NOT NULL,
        boot_id text NOT NULL,
        media_epoch integer NOT NULL,
        asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        started_at bigint,
        ended jsonb,
        ended_at timestamptz
      );
      CREATE INDEX recording_part_recording ON recording_part (recording_id);
      CREATE INDEX recording_part_node ON recording_part (node_id) WHERE ended IS NULL;
      ALTER TABLE session ADD COLUMN was_recorded boolean NOT NULL DEFAULT false;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN was_recorded; DROP TABLE recording_part, recording')
  }
}
