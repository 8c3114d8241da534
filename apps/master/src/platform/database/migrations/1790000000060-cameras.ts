import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Connections of cameras on the network. */
export class Cameras1790000000060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE connection ADD COLUMN camera jsonb, ADD COLUMN camera_state jsonb,
        ADD COLUMN camera_retry_at timestamptz;
      ALTER TABLE session ADD COLUMN was_emptied boolean NOT NULL DEFAULT false;
      CREATE INDEX connection_camera ON connection (session_id) WHERE camera IS NOT NULL;
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX connection_camera;
      ALTER TABLE connection DROP COLUMN camera, DROP COLUMN camera_state, DROP COLUMN camera_retry_at;
      ALTER TABLE session DROP COLUMN was_emptied;
    `)
  }
}
