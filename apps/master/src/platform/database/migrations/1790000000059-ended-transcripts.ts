import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Sessions that have ended and whose event `transcriptReady` is to come. */
export class EndedTranscripts1790000000059 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE ended_transcript (
        unique_session_id text CONSTRAINT ended_transcript_pk PRIMARY KEY,
        ended_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE ended_transcript')
  }
}
