import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A page of the history by a rare reason or an old media node, or of transcripts by a rare language, read all rows. */
export class FilteredHistory1790000000097 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX session_history_reason ON session_history (reason, destroyed_at, unique_session_id);
      CREATE INDEX session_history_node ON session_history (media_node_id, destroyed_at, unique_session_id);
      CREATE INDEX transcript_sentence_lang ON transcript_sentence (lang, start_time, id);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX transcript_sentence_lang;
      DROP INDEX session_history_node;
      DROP INDEX session_history_reason;
    `)
  }
}
