import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Recognized sentences. Rows do not refer to sessions, which they outlive. */
export class Transcripts1790000000057 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE transcript_sentence (
        id text CONSTRAINT transcript_sentence_pk PRIMARY KEY,
        session_id text NOT NULL,
        unique_session_id text NOT NULL,
        connection_id text NOT NULL,
        client_data text NOT NULL,
        stream_id text NOT NULL,
        lang text NOT NULL,
        text text NOT NULL,
        search tsvector NOT NULL,
        start_time bigint NOT NULL,
        end_time bigint,
        words jsonb,
        stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX transcript_sentence_use ON transcript_sentence (unique_session_id, start_time, id);
      CREATE INDEX transcript_sentence_session ON transcript_sentence (session_id, start_time, id);
      CREATE INDEX transcript_sentence_time ON transcript_sentence (start_time, id);
      CREATE INDEX transcript_sentence_age ON transcript_sentence (stored_at);
      CREATE INDEX transcript_sentence_words ON transcript_sentence USING gin (search);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE transcript_sentence')
  }
}
