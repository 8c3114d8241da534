import type { MigrationInterface, QueryRunner } from 'typeorm'

/**
 * A crash of the database resets a sequence of an unlogged table: clients would ignore new signals, because their ids
 * are those of former ones. A sequence is logged once for 32 values.
 */
export class LoggedSequences1790000000091 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER SEQUENCE recent_signal_id_seq SET LOGGED')
    await runner.query('ALTER SEQUENCE recent_event_position_seq SET LOGGED')
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER SEQUENCE recent_event_position_seq SET UNLOGGED')
    await runner.query('ALTER SEQUENCE recent_signal_id_seq SET UNLOGGED')
  }
}
