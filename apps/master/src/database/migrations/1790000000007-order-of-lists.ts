import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Lists are read page by page in the order of creation. */
export class OrderOfLists1790000000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX session_created ON session (created_at, id);
      CREATE INDEX connection_session_created ON connection (session_id, created_at, id);
      DROP INDEX connection_session;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX connection_session ON connection (session_id);
      DROP INDEX connection_session_created, session_created;
    `)
  }
}
