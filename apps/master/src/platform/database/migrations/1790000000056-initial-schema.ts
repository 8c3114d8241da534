import type { MigrationInterface, QueryRunner } from 'typeorm'

const SESSIONS = `
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
    media_node_boot_id text,
    media_epoch integer NOT NULL DEFAULT 0,
    media_moved boolean NOT NULL DEFAULT false,
    was_recorded boolean NOT NULL DEFAULT false,
    told_at bigint NOT NULL DEFAULT 0,
    CONSTRAINT session_whole_place CHECK ((media_node_id IS NULL) = (media_node_boot_id IS NULL))
  );
  CREATE INDEX session_created ON session (created_at, id);
  CREATE INDEX session_place ON session (media_node_id, media_node_boot_id) WHERE media_node_id IS NOT NULL;
`

const CONNECTIONS = `
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
    evict_at timestamptz,
    last_signal_id bigint
  );
  CREATE INDEX connection_session_created ON connection (session_id, created_at, id);
  CREATE INDEX connection_evict_at ON connection (evict_at) WHERE evict_at IS NOT NULL;
  CREATE INDEX connection_master ON connection (master_id) WHERE master_id IS NOT NULL;
`

const STREAMS = `
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
`

/** Unlogged: a signal is not worth a disk write, and a crash of the database may lose the last ones. */
const SIGNALS = `
  CREATE UNLOGGED TABLE recent_signal (
    id bigserial CONSTRAINT recent_signal_pk PRIMARY KEY,
    session_key text NOT NULL,
    recipients text[],
    sender text,
    type text NOT NULL,
    data text NOT NULL,
    bytes integer NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX recent_signal_session ON recent_signal (session_key, id);
`

const RECORDINGS = `
  CREATE TABLE recording (
    id text CONSTRAINT recording_pk PRIMARY KEY,
    session_id text NOT NULL,
    unique_session_id text NOT NULL,
    status text NOT NULL,
    created_at bigint NOT NULL,
    properties jsonb NOT NULL,
    is_automatic boolean NOT NULL DEFAULT false,
    size bigint NOT NULL DEFAULT 0,
    duration double precision NOT NULL DEFAULT 0,
    file text,
    stop_reason text,
    media_node_id text NOT NULL,
    autostop_at timestamptz,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_by text,
    claimed_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    removed_at timestamptz,
    has_audio boolean,
    has_video boolean,
    is_recovered boolean NOT NULL DEFAULT false
  );
  CREATE INDEX recording_order ON recording (created_at, id);
  CREATE INDEX recording_session ON recording (session_id);
  CREATE UNIQUE INDEX recording_live ON recording (unique_session_id) WHERE status IN ('starting', 'started');
  CREATE INDEX recording_unsettled ON recording (status) WHERE status IN ('starting', 'started', 'stopped');
  CREATE INDEX recording_removed ON recording (removed_at) WHERE removed_at IS NOT NULL;
  CREATE TABLE recording_part (
    part bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT recording_part_pk PRIMARY KEY,
    recording_id text NOT NULL CONSTRAINT recording_part_recording_fk REFERENCES recording(id) ON DELETE CASCADE,
    node_id text NOT NULL,
    boot_id text NOT NULL,
    media_epoch integer NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at bigint,
    ended jsonb,
    ended_at timestamptz
  );
  CREATE INDEX recording_part_recording ON recording_part (recording_id);
  CREATE INDEX recording_part_node ON recording_part (node_id) WHERE ended IS NULL;
`

const SERVERS = `
  CREATE TABLE master (
    id text CONSTRAINT master_pk PRIMARY KEY,
    alive_at timestamptz NOT NULL,
    uri text NOT NULL DEFAULT '',
    nodes_heard integer NOT NULL DEFAULT 0,
    generation bigint
  );
  CREATE TABLE media_node (
    id text CONSTRAINT media_node_pk PRIMARY KEY,
    environment_id text NOT NULL DEFAULT '',
    ip text NOT NULL DEFAULT '',
    uri text NOT NULL DEFAULT '',
    version text NOT NULL DEFAULT '',
    status text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    boot_id text,
    launching_time bigint NOT NULL,
    connection_time bigint,
    disconnected_at bigint,
    crash_event_id text,
    drain_deadline bigint,
    heard_at bigint NOT NULL DEFAULT 0,
    crash_count integer NOT NULL DEFAULT 0,
    back_off_until bigint
  );
  CREATE INDEX media_node_order ON media_node (launching_time, id);
`

/** The cluster has exactly one row. */
const CONFIGURATION = `
  CREATE TABLE cluster (id text CONSTRAINT cluster_pk PRIMARY KEY);
  INSERT INTO cluster (id) VALUES (gen_random_uuid());
  CREATE TABLE config_override (
    name text CONSTRAINT config_override_pk PRIMARY KEY,
    value text NOT NULL
  );
  CREATE TABLE restart (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT restart_pk PRIMARY KEY,
    requested_at bigint NOT NULL,
    overrides jsonb,
    served_at bigint,
    rollback jsonb
  );
`

const EVENTS = `
  CREATE TABLE outbox (
    position bigserial CONSTRAINT outbox_pk PRIMARY KEY,
    id text NOT NULL,
    consumer text NOT NULL,
    session_key text NOT NULL,
    name text NOT NULL,
    payload text NOT NULL,
    created_at bigint NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_error text NOT NULL DEFAULT '',
    dead_at timestamptz,
    after_id text,
    CONSTRAINT outbox_id UNIQUE (id, consumer)
  );
  CREATE INDEX outbox_due ON outbox (consumer, position) WHERE dead_at IS NULL;
  CREATE INDEX outbox_session ON outbox (consumer, session_key, position) WHERE dead_at IS NULL;
  CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;
  CREATE TABLE idempotent_call (
    key text CONSTRAINT idempotent_call_pk PRIMARY KEY,
    request text NOT NULL,
    master_id text NOT NULL,
    claim text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    answer text
  );
  CREATE INDEX idempotent_call_age ON idempotent_call (asked_at);
`

/** The schema of the first release. Names of constraints and indexes are those that the entities declare. */
export class InitialSchema1790000000056 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const parts = [SESSIONS, CONNECTIONS, STREAMS, SIGNALS, RECORDINGS, SERVERS, CONFIGURATION, EVENTS]
    await runner.query(parts.join(''))
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE idempotent_call, outbox, restart, config_override, cluster, media_node, master, recording_part,
        recording, recent_signal, subscription, stream, connection, session
    `)
  }
}
