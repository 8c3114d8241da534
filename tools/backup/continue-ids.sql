-- For a restored database. Clients and media nodes may know ids from after the backup: no new one must be among them.
DO $$ BEGIN
  PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 1000000)
  FROM pg_sequences
  WHERE sequencename IN ('recent_signal_id_seq', 'recent_event_position_seq', 'recording_part_part_seq');
END $$;
