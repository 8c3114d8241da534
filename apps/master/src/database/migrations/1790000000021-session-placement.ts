import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Which sessions are on one boot of a media node, and which boots have any, without reading all sessions. */
export class SessionPlacement1790000000021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE session ADD CONSTRAINT session_whole_place
        CHECK ((media_node_id IS NULL) = (media_node_boot_id IS NULL));
      CREATE INDEX session_place ON session (media_node_id, media_node_boot_id) WHERE media_node_id IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX session_place; ALTER TABLE session DROP CONSTRAINT session_whole_place')
  }
}
