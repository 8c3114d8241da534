import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { library } from '../compatibility/library.mjs'
import { installedPrograms, startInstalledPostgres } from './postgres-installation.mjs'

const { createTestDatabase, startStack, SyntheticParticipant, until } = await library('testing')
const bin = installedPrograms()
const skip = bin === undefined && 'no Postgres with pg_dump is installed: apt-get install postgresql'
const INTERVAL = 1_234
const TABLES = ['recording', 'recording_part', 'config_override', 'restart', 'session', 'migrations', 'cluster']

let server
let stack
let folder
before(async () => {
  if (skip) return
  folder = mkdtempSync(join(tmpdir(), 'backup-'))
  server = await startInstalledPostgres(bin)
  process.env.TEST_POSTGRES_URL = server.url
  const masterEnv = { SERVICE_CDR: 'true', SERVICE_CDR_PATH: callRecords() }
  stack = await startStack({ env: { SERVICE_RECORDING: 'true' }, masterEnv, nodeEnv: { MEDIA_NODE_ID: 'media_one' } })
})
after(async () => {
  await stack?.stop()
  await server?.stop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

const callRecords = () => join(folder, 'cdr')
const target = () => join(folder, 'backup')
const scriptWith = (env, name, ...args) =>
  spawnSync(join(import.meta.dirname, name), args, {
    encoding: 'utf8',
    env: { PATH: `${bin}:${process.env.PATH}`, ...env },
  })
const scriptOn = (url, name, ...args) => scriptWith({ DATABASE_URL: url }, name, ...args)
const script = (...args) => scriptOn(stack.postgres.url, ...args)

/** Every row of the tables that a restore must bring back. */
const rows = async () => {
  const found = TABLES.map(async (table) => [
    table,
    await stack.postgres.query(`SELECT to_jsonb(t) AS row FROM "${table}" t ORDER BY to_jsonb(t)::text`),
  ])
  return Object.fromEntries(await Promise.all(found))
}
/** The last value of each sequence whose values clients and media nodes know. */
const lastIds = async () => {
  const found = await stack.postgres.query(`
    SELECT sequencename AS name, coalesce(last_value, 0)::int AS last FROM pg_sequences
    WHERE sequencename IN ('recent_signal_id_seq', 'recording_part_part_seq')`)
  return Object.fromEntries(found.map(({ name, last }) => [name, last]))
}
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex')
const download = async (url) => {
  const Authorization = `Basic ${Buffer.from(`SERVICEAPP:${stack.secret}`).toString('base64')}`
  const answer = await fetch(url, { headers: { Authorization } })
  assert.equal(answer.status, 200)
  return digest(Buffer.from(await answer.arrayBuffer()))
}
const interval = async () => (await stack.rest('GET', '/config')).body?.SERVICE_SESSIONS_GARBAGE_INTERVAL
/** A restarting master answers reads already. */
const isRestarting = async () => (await stack.rest('DELETE', '/sessions/none')).status === 503
const eventsOf = (sessionId) =>
  readdirSync(callRecords())
    .flatMap((file) => readFileSync(join(callRecords(), file), 'utf8').split('\n'))
    .filter((line) => line.includes(sessionId))

/** A session with a finished recording, which has ended. */
async function recordedSession() {
  const { id } = await stack.api.createSession({ customSessionId: 'recorded' })
  const { token } = await stack.api.createConnection(id)
  const peer = await SyntheticParticipant.join(token)
  await peer.publish({ width: 320, height: 180, fps: 15, kbps: 150 })
  const recording = await stack.api.startRecording({ session: id, outputMode: 'INDIVIDUAL' })
  const startedAt = performance.now()
  await until('the recording has two seconds of media', () => performance.now() - startedAt > 2_000)
  await stack.api.stopRecording(recording.id)
  await until('the recording is ready', async () => (await stack.api.getRecording(recording.id)).status === 'ready')
  await peer.close()
  await stack.api.deleteSession(id)
  await until('the call records have the end of the session', () =>
    eventsOf(id).some((line) => line.includes('sessionDestroyed')),
  )
  return { id, recording: await stack.api.getRecording(recording.id) }
}

test(
  'a backup brings back recordings, session history and overrides after everything was wiped',
  { skip },
  async () => {
    await stack.rest('POST', '/restart', { SERVICE_SESSIONS_GARBAGE_INTERVAL: INTERVAL })
    await until('the override is in force', async () => (await interval()) === INTERVAL && !(await isRestarting()))
    const { id, recording } = await recordedSession()
    await stack.api.createSession({ customSessionId: 'unused' })
    const history = eventsOf(id)
    const file = await download(recording.url)

    // As an interrupted run leaves it.
    mkdirSync(`${target()}.partial`)
    writeFileSync(join(`${target()}.partial`, 'incomplete.tar.gz'), 'incomplete')
    const backup = script('backup.sh', `${target()}/`, stack.recordingsFolder, callRecords())
    assert.equal(backup.status, 0, backup.stderr)
    assert.deepEqual(readdirSync(target()), ['SHA256SUMS', 'call-records.tar.gz', 'database.dump', 'recordings.tar.gz'])
    const [saved, savedIds] = [await rows(), await lastIds()]

    const running = [...stack.nodes, ...stack.masters]
    for (const process of running) process.kill('SIGTERM')
    await Promise.all(running.map(({ exited }) => exited))
    await stack.postgres.query('DROP SCHEMA public CASCADE')
    await stack.postgres.query('CREATE SCHEMA public')
    for (const each of [stack.recordingsFolder, callRecords()]) rmSync(each, { recursive: true })
    // As media nodes that stay have it.
    const inProgress = join(stack.recordingsFolder, '.jobs', 'of_a_node')
    mkdirSync(inProgress, { recursive: true })
    mkdirSync(join(stack.recordingsFolder, 'lost+found'))

    const restore = script('restore.sh', target(), stack.recordingsFolder, callRecords())
    assert.equal(restore.status, 0, restore.stderr)
    assert.deepEqual(await rows(), saved)
    assert.ok(existsSync(inProgress))
    const ids = Object.entries(await lastIds())
    assert.equal(ids.length, 2)
    for (const [name, last] of ids) assert.ok(last >= savedIds[name] + 1_000_000, `${name}: ${last}`)

    for (const process of [...stack.masters, ...stack.nodes]) await stack.revive(process)
    assert.equal(await interval(), INTERVAL)
    assert.deepEqual(await stack.api.getRecording(recording.id), recording)
    assert.equal(await download(recording.url), file)
    assert.deepEqual(eventsOf(id).slice(0, history.length), history)
    assert.equal((await stack.api.getSession('unused')).id, 'unused')
    const { id: next } = await stack.api.createSession({ mediaNode: { id: 'media_one' } })
    await (await stack.join(next)).close()
  },
)

test('a restore refuses a database that is not empty, and changes nothing', { skip }, async () => {
  const saved = await rows()
  const { status, stderr } = script('restore.sh', target())
  assert.equal(status, 1)
  assert.match(stderr, /the database is not empty/)
  assert.deepEqual((await rows()).recording, saved.recording)
})

test('a restore refuses a folder with files, and leaves the database empty', { skip }, async () => {
  const { url, drop, query } = await createTestDatabase()
  try {
    const { status, stderr } = scriptOn(url, 'restore.sh', target(), stack.recordingsFolder)
    assert.equal(status, 1)
    assert.match(stderr, /recordings.* is not empty/)
    assert.deepEqual(await query(`SELECT FROM pg_tables WHERE schemaname = 'public'`), [])
  } finally {
    await drop()
  }
})

test('a restore refuses a damaged backup', { skip }, () => {
  const damaged = join(folder, 'damaged')
  cpSync(target(), damaged, { recursive: true })
  writeFileSync(join(damaged, 'database.dump'), 'damaged')
  const { status, stderr } = script('restore.sh', damaged)
  assert.equal(status, 1)
  assert.match(stderr, /checksum/)
})

test('a restore refuses a backup without an archive that it needs, and extracts nothing', { skip }, async () => {
  const { url, drop } = await createTestDatabase()
  const [bare, empty] = [join(folder, 'bare'), join(folder, 'empty')]
  try {
    assert.equal(script('backup.sh', bare, stack.recordingsFolder).status, 0)
    const { status, stderr } = scriptOn(url, 'restore.sh', bare, empty, join(folder, 'no-records'))
    assert.equal(status, 1)
    assert.match(stderr, /no complete call-records/)
    assert.ok(!existsSync(empty))
  } finally {
    await drop()
  }
})

test('backup and restore take the TLS settings of masters', { skip }, async () => {
  const modes = [
    ['no-verify', {}],
    ['verify-full', { NODE_EXTRA_CA_CERTS: server.certificate }],
  ]
  for (const [mode, env] of modes) {
    const { url, drop } = await createTestDatabase()
    const withTls = (address) => ({ ...env, DATABASE_URL: `${address}?sslmode=${mode}` })
    const made = join(folder, mode)
    try {
      const backup = scriptWith(withTls(stack.postgres.url), 'backup.sh', made)
      assert.equal(backup.status, 0, backup.stderr)
      const restore = scriptWith(withTls(url), 'restore.sh', made)
      assert.equal(restore.status, 0, restore.stderr)
    } finally {
      await drop()
    }
  }
  const unknown = scriptOn(`${stack.postgres.url}?sslmode=verify-full`, 'backup.sh', join(folder, 'unknown'))
  assert.match(unknown.stderr, /certificate verify failed/)
})

test('a backup without a database leaves nothing under its name', { skip }, () => {
  const nowhere = spawnSync(join(import.meta.dirname, 'backup.sh'), [join(folder, 'none')], {
    env: { PATH: `${bin}:${process.env.PATH}`, DATABASE_URL: 'postgres://127.0.0.1:1/none' },
  })
  assert.notEqual(nowhere.status, 0)
  assert.ok(!readdirSync(folder).includes('none'))
})
