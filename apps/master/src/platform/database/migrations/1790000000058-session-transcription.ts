import type { MigrationInterface, QueryRunner } from 'typeorm'

/** The language in which a whole session is transcribed. */
export class SessionTranscription1790000000058 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session ADD COLUMN transcription_lang text')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE session DROP COLUMN transcription_lang')
  }
}
