import type { MigrationInterface, QueryRunner } from 'typeorm'

/** Filters of streams, which outlive the rows of the streams after a loss of their media, and listeners for their events. */
export class StreamFilters1790000000061 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE stream_filter (
        stream_id text CONSTRAINT stream_filter_pk PRIMARY KEY,
        connection_id text NOT NULL
          CONSTRAINT stream_filter_connection_fk REFERENCES connection (id) ON DELETE CASCADE,
        filter_id text NOT NULL,
        type text NOT NULL,
        options jsonb NOT NULL,
        view jsonb NOT NULL,
        starting_until timestamptz
      );
      CREATE INDEX stream_filter_connection ON stream_filter (connection_id);
      CREATE TABLE filter_listener (
        connection_id text CONSTRAINT filter_listener_connection_fk REFERENCES connection (id) ON DELETE CASCADE,
        stream_id text CONSTRAINT filter_listener_stream_fk REFERENCES stream_filter (stream_id) ON DELETE CASCADE,
        event_type text,
        CONSTRAINT filter_listener_pk PRIMARY KEY (connection_id, stream_id, event_type)
      );
      CREATE INDEX filter_listener_stream ON filter_listener (stream_id);
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE filter_listener; DROP TABLE stream_filter')
  }
}
