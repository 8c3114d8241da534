import type { MigrationInterface, QueryRunner } from 'typeorm'

export class InitialSchema1790000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE session (
        id text CONSTRAINT session_pk PRIMARY KEY,
        unique_id text NOT NULL CONSTRAINT session_unique_id UNIQUE,
        created_at bigint NOT NULL,
        media_mode text NOT NULL,
        recording_mode text NOT NULL,
        has_custom_id boolean NOT NULL,
        forced_video_codec text NOT NULL,
        allow_transcoding boolean NOT NULL,
        recording_properties jsonb NOT NULL,
        forced_node_id text,
        media_node_id text,
        media_node_boot_id text
      );
      CREATE TABLE connection (
        id text CONSTRAINT connection_pk PRIMARY KEY,
        session_id text NOT NULL CONSTRAINT connection_session_fk REFERENCES session(id) ON DELETE CASCADE,
        type text NOT NULL,
        status text NOT NULL,
        created_at bigint NOT NULL,
        active_at bigint,
        server_data text NOT NULL,
        client_data text,
        record boolean NOT NULL,
        role text NOT NULL,
        mediaserver_options jsonb,
        ice_servers jsonb NOT NULL,
        location text,
        ip text,
        platform text,
        token_nonce text NOT NULL,
        token_hash bytea NOT NULL CONSTRAINT connection_token_hash UNIQUE,
        resume_hash bytea,
        master_id text,
        evict_at timestamptz
      );
      CREATE INDEX connection_session ON connection (session_id);
      CREATE INDEX connection_evict_at ON connection (evict_at) WHERE evict_at IS NOT NULL;
      CREATE INDEX connection_master ON connection (master_id) WHERE master_id IS NOT NULL;
      CREATE TABLE stream (
        id text CONSTRAINT stream_pk PRIMARY KEY,
        session_id text NOT NULL,
        connection_id text NOT NULL CONSTRAINT stream_connection_fk REFERENCES connection(id) ON DELETE CASCADE,
        created_at bigint NOT NULL,
        media_options jsonb NOT NULL
      );
      CREATE INDEX stream_session ON stream (session_id);
      CREATE INDEX stream_connection ON stream (connection_id);
      CREATE TABLE subscription (
        connection_id text NOT NULL CONSTRAINT subscription_connection_fk REFERENCES connection(id) ON DELETE CASCADE,
        stream_id text NOT NULL CONSTRAINT subscription_stream_fk REFERENCES stream(id) ON DELETE CASCADE,
        created_at bigint NOT NULL,
        CONSTRAINT subscription_pk PRIMARY KEY (connection_id, stream_id)
      );
      CREATE INDEX subscription_stream ON subscription (stream_id);
      CREATE TABLE master (
        id text CONSTRAINT master_pk PRIMARY KEY,
        alive_at timestamptz NOT NULL
      );
    `)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE master, subscription, stream, connection, session')
  }
}
