import type { MigrationInterface, QueryRunner } from 'typeorm'

/** What all masters together are, in a single row. */
export class Cluster1790000000026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE cluster (id text CONSTRAINT cluster_pk PRIMARY KEY);
      INSERT INTO cluster (id) VALUES (gen_random_uuid());
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE cluster')
  }
}
