import type { TestDatabase } from '../stack/test-database.js'

/**
 * Adds an hour to every eviction deadline of a participant: on a busy machine, steps of a test during a loss take longer
 * than the eviction timeout. A trigger, because masters set and shorten deadlines at any time.
 */
export async function postponeEviction(database: Pick<TestDatabase, 'query'>, connectionId: string): Promise<void> {
  await database.query(`CREATE OR REPLACE FUNCTION postpone() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN NEW.evict_at := NEW.evict_at + interval '1 hour'; RETURN NEW; END $$`)
  await database.query(`CREATE TRIGGER "postpone ${connectionId}" BEFORE UPDATE OF evict_at ON connection
    FOR EACH ROW WHEN (NEW.id = '${connectionId}') EXECUTE FUNCTION postpone()`)
}
