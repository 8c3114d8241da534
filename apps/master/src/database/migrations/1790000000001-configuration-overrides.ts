import type { MigrationInterface, QueryRunner } from 'typeorm'

export class ConfigurationOverrides1790000000001 implements MigrationInterface {
  readonly name = 'ConfigurationOverrides1790000000001'

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE config_override (
        name text CONSTRAINT config_override_pk PRIMARY KEY,
        value text NOT NULL
      );
      CREATE TABLE restart (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT restart_pk PRIMARY KEY,
        requested_at bigint NOT NULL
      );
      ALTER TABLE master ADD uri text NOT NULL DEFAULT '';
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE master DROP uri; DROP TABLE restart, config_override')
  }
}
