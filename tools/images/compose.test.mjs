// deploy/compose.yaml, with the secrets that deploy/compose/new-env.sh writes.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { parseYaml } from '@redocly/openapi-core'
import { loadMasterConfig, loadNodeConfig, PROPERTIES } from '../../libs/config/dist/index.js'
import { findNatsServer, freePorts } from '../../libs/local-stack/dist/index.js'
import { readConfig } from '../../apps/playground/dist/server/config.js'
import { composeAuthorization } from '../generate/nats.mjs'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy')
const read = (file) => readFileSync(join(FOLDER, file), 'utf8')
const compose = parseYaml(read('compose.yaml'))
const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/** Runs the script and gives the variables that it wrote. */
function newEnvironment(t, ...args) {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, '.env')
  const run = () =>
    spawnSync('sh', [join(FOLDER, 'compose/new-env.sh'), ...args], {
      env: { ...process.env, ENV_FILE: file },
      encoding: 'utf8',
    })
  const { status, stderr } = run()
  assert.equal(status, 0, stderr)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return { file, run, env: Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))) }
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as compose does. */
const interpolate = (text, env) =>
  String(text).replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, kind, word) => {
    const value = env[name] || (kind === '-' ? word : '')
    if (value === '' && kind !== '-') throw new Error(`${name} has no value`)
    return value
  })

const environmentOf = (service, env) =>
  Object.fromEntries(
    Object.entries(compose.services[service].environment).map(([name, value]) => [name, interpolate(value, env)]),
  )

test('master, media node and playground accept their variables, and each is known', (t) => {
  for (const words of [['203.0.113.7'], ['203.0.113.7', 'video.example.org']]) {
    const { env } = newEnvironment(t, ...words)
    const master = loadMasterConfig(environmentOf('master', env))
    assert.equal(master.SERVICE_PUBLICURL, words[1] ? 'https://video.example.org' : 'http://localhost:4443')
    const node = loadNodeConfig(environmentOf('media-node', env))
    assert.equal(node.MEDIA_NODE_ANNOUNCED_ADDRESS, '203.0.113.7')
    assert.deepEqual(readConfig(environmentOf('playground', env)).hostNames, words.slice(1))
  }
  for (const [service, audience] of [
    ['master', 'master'],
    ['media-node', 'node'],
  ])
    for (const name of Object.keys(compose.services[service].environment))
      assert.ok([audience, 'both'].includes(PROPERTIES[name]?.audience), `${service}: ${name}`)
})

test('the script writes secrets for its owner alone, and keeps an existing file', (t) => {
  const { env, file, run } = newEnvironment(t, '203.0.113.7')
  const secrets = Object.entries(env)
    .filter(([name]) => /SECRET|PASSWORD/.test(name))
    .map(([, value]) => value)
  assert.equal(new Set(secrets).size, 5)
  for (const secret of secrets) assert.match(secret, /^s[0-9a-f]{48}$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const before = readFileSync(file, 'utf8')
  assert.equal(run().status, 1)
  assert.equal(readFileSync(file, 'utf8'), before)
})

test('the ports of media match the number of workers, and a stop waits longer than a drain', (t) => {
  const { env } = newEnvironment(t, '203.0.113.7')
  const { ports, stop_grace_period: grace } = compose.services['media-node']
  const node = loadNodeConfig(environmentOf('media-node', env))
  const last = node.MEDIA_NODE_RTC_PORT + node.MEDIA_NODE_WORKERS - 1
  const range = `${node.MEDIA_NODE_RTC_PORT}-${last}`
  assert.deepEqual(
    ports.map((port) => interpolate(port, env)),
    [`${range}:${range}/udp`, `${range}:${range}/tcp`],
  )
  const longest = node.MEDIA_NODE_DRAIN_TIMEOUT + node.MEDIA_NODE_RECORDING_FINISH_TIMEOUT
  assert.ok(Number.parseInt(interpolate(grace, env), 10) >= longest + 30)
})

/** A stop ends a service before those that it depends on. */
test('a stop ends the media node first, then the master, then what the master needs', () => {
  const conditionsOf = (service) =>
    Object.entries(compose.services[service].depends_on ?? {}).map(([name, { condition }]) => [name, condition])
  assert.deepEqual(Object.fromEntries(conditionsOf('media-node')), {
    // Also a master that is not ready: the node connects to it later.
    master: 'service_started',
    nats: 'service_healthy',
  })
  assert.deepEqual(Object.fromEntries(conditionsOf('master')), {
    postgres: 'service_healthy',
    nats: 'service_healthy',
  })
})

test('images have the version of the project, and mounted files exist', () => {
  for (const name of ['master', 'media-node', 'playground']) {
    const { image } = compose.services[name]
    assert.equal(interpolate(image, {}), `session-service/${name}:${version}${name === 'media-node' ? '-full' : ''}`)
  }
  for (const { volumes = [] } of Object.values(compose.services))
    for (const file of volumes.map((volume) => volume.split(':')[0]).filter((path) => path.startsWith('./')))
      assert.ok(existsSync(join(FOLDER, file)), file)
})

test('only proxy, media and relay are reachable from other machines', () => {
  const open = Object.entries(compose.services)
    .filter(
      ([, { ports = [], network_mode: mode }]) =>
        mode === 'host' || ports.some((port) => !port.startsWith('${BIND:-127.0.0.1}:')),
    )
    .map(([name]) => name)
  assert.deepEqual(open, ['media-node', 'caddy', 'turn'])
})

test('our containers have a read-only root, no capabilities and a health check', () => {
  for (const name of ['master', 'media-node', 'playground', 'nats']) {
    const service = compose.services[name]
    assert.equal(service.read_only, true, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.ok(service.healthcheck.test.length > 1, name)
  }
})

test('the users of the bus are those in the configuration of nats-server, with passwords of the environment', (t) => {
  const { env } = newEnvironment(t, '203.0.113.7')
  const configuration = read('compose/nats.conf')
  for (const service of ['master', 'media-node']) {
    const { username, password } = new URL(environmentOf(service, env).NATS_URL)
    const variable = Object.keys(env).find((name) => env[name] === password)
    assert.ok(configuration.includes(`user: "${username}"\n        password: $${variable}\n`), service)
  }
  const others = { clusterUsers: () => ({}), natsAuthorization: () => ['password: "$OTHER"'] }
  assert.throws(() => composeAuthorization(others), /NATS_MASTER_PASSWORD/)
})

/** The addresses on which the server listens for clients with these arguments, on other ports than its own. */
async function natsAddresses(args, env) {
  const [port, monitorPort] = (await freePorts(2)).map(String)
  const own = args.map(
    (arg) => ({ '/etc/nats/nats.conf': join(FOLDER, 'compose/nats.conf'), 8222: monitorPort })[arg] ?? arg,
  )
  const server = spawn(findNatsServer(process.env), [...own, '--port', port], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const addresses = []
  for await (const line of createInterface(server.stderr)) {
    const [, address] = /Listening for client connections on (.+):\d+/.exec(line) ?? []
    if (address) addresses.push(address)
    if (line.includes('Server is ready')) server.kill('SIGTERM')
  }
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  return addresses
}

test('nats-server listens on loopback by its configuration, and for other containers in its container', async (t) => {
  const { env } = newEnvironment(t, '203.0.113.7')
  assert.deepEqual(await natsAddresses(['--config', '/etc/nats/nats.conf'], env), ['127.0.0.1'])
  assert.deepEqual(await natsAddresses(compose.services.nats.command, env), ['0.0.0.0'])
})
