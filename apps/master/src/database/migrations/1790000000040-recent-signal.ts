import type { MigrationInterface, QueryRunner } from 'typeorm'

/**
 * Signals of the last seconds, for participants that resume. Unlogged: they are not worth a disk write each, and a crash
 * of the database may lose them.
 */
export class RecentSignal1790000000040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE recent_signal (
        id bigserial CONSTRAINT recent_signal_pk PRIMARY KEY,
        session_key text NOT NULL,
        recipients text[],
        sender text,
        type text NOT NULL,
        data text NOT NULL,
        bytes integer NOT NULL,
        sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX recent_signal_session ON recent_signal (session_key, id);
      ALTER TABLE connection ADD COLUMN last_signal_id bigint;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE connection DROP COLUMN last_signal_id; DROP TABLE recent_signal')
  }
}
