// deploy/systemd: the units for installations without containers.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  loadMasterConfig,
  loadNodeConfig,
  MEMORY_VARIABLES,
  PROPERTIES,
  SYSTEM_VARIABLES,
} from '../../libs/config/dist/index.js'
import { which } from '../bootstrap/exec.mjs'
import { IMAGES, PROGRAMS } from './contents.mjs'

const FOLDER = join(import.meta.dirname, '../../deploy/systemd')
const NAMES = ['master', 'media-node', 'playground']
/** Not properties: they are read by Node, GStreamer, the playground and the C library. */
const OTHERS = ['NODE_ENV', 'XDG_CACHE_HOME', 'PLAYGROUND_HOST', ...Object.keys(MEMORY_VARIABLES)]

const textOf = (name) => readFileSync(join(FOLDER, `session-service-${name}.service`), 'utf8')
/** `[setting, value]` of all lines, in their order. */
const settingsOf = (name) => [...textOf(name).matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value])
const setting = (name, wanted) => settingsOf(name).findLast(([key]) => key === wanted)?.[1]
const environmentOf = (name) =>
  Object.fromEntries(
    settingsOf(name).flatMap(([key, value]) => (key === 'Environment' ? [value.split(/=(.*)/s).slice(0, 2)] : [])),
  )

test('units start the collected program with the pinned Node', () => {
  for (const name of NAMES) {
    const program = `/opt/session-service/${name}/app/${IMAGES[name].app}/dist/bundle/main.js`
    assert.equal(setting(name, 'ExecStart'), `/opt/session-service/bin/node --enable-source-maps ${program}`)
  }
})

test('variables of units are known, and valid together with the mandatory ones', () => {
  for (const name of NAMES)
    for (const variable of Object.keys(environmentOf(name)))
      assert.ok(variable in PROPERTIES || SYSTEM_VARIABLES.includes(variable) || OTHERS.includes(variable), variable)
  const given = { SERVICE_SECRET: 'secret', DATABASE_URL: 'postgres://service@localhost/service' }
  const master = loadMasterConfig({ ...environmentOf('master'), ...given })
  const node = loadNodeConfig(environmentOf('media-node'))
  assert.equal(master.SERVICE_RECORDING_PATH, node.SERVICE_RECORDING_PATH)
})

test('programs run with the same variables for memory in units, in images and by npm start', () => {
  const dockerfile = readFileSync(join(FOLDER, '../images/Dockerfile'), 'utf8')
  const image = dockerfile.slice(dockerfile.indexOf(' AS runtime')).split('\nFROM ')[0]
  for (const [name, value] of Object.entries(MEMORY_VARIABLES)) {
    assert.match(image, new RegExp(`^ENV .*\\b${name}=${value}$`, 'm'))
    for (const unit of NAMES) assert.equal(environmentOf(unit)[name], value)
  }
})

test('programs and files of the full media node are at the paths that its unit names', () => {
  const root = '/opt/session-service/media-node/'
  const environment = environmentOf('media-node')
  for (const [variable, path] of Object.entries(PROGRAMS).filter(([key]) => key.endsWith('_BIN')))
    assert.equal(environment[variable], root + path)
  assert.equal(environment.MEDIA_NODE_VOSK_LIBRARY, root + PROGRAMS.VOSK_LIBRARY)
  assert.equal(environment.MEDIA_NODE_SPEECH_TO_TEXT_MODELS, root + PROGRAMS.VOSK_MODELS)
})

test('a stop waits longer than the drain of a media node and the shutdown of a master', () => {
  const node = loadNodeConfig(environmentOf('media-node'))
  const longest = node.MEDIA_NODE_DRAIN_TIMEOUT + node.MEDIA_NODE_RECORDING_FINISH_TIMEOUT
  assert.ok(Number(setting('media-node', 'TimeoutStopSec')) >= longest + 30)
  const longestDelay = 20
  assert.ok(Number(setting('master', 'TimeoutStopSec')) >= longestDelay + 30)
})

test('a stop of all units ends the media node before the master, and neither starts or stops the other', () => {
  const [master, node] = ['master', 'media-node'].map((name) => setting(name, 'After').split(' '))
  assert.ok(node.includes('session-service-master.service'))
  for (const units of [master, node]) assert.ok(units.includes('nats-server.service'))
  for (const name of ['master', 'media-node'])
    for (const key of ['Requires', 'BindsTo', 'PartOf']) assert.equal(setting(name, key), undefined, `${name}: ${key}`)
})

test('a media node that was removed stays away, all else is restarted', () => {
  assert.deepEqual(
    NAMES.map((name) => setting(name, 'Restart')),
    ['always', 'on-failure', 'always'],
  )
})

test('units run without root and capabilities on a read-only system, and are not restarted with an invalid configuration', () => {
  for (const name of NAMES) {
    const expected = {
      DynamicUser: 'yes',
      ProtectSystem: 'strict',
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      RestartPreventExitStatus: '78',
    }
    for (const [key, value] of Object.entries(expected)) assert.equal(setting(name, key), value, `${name}: ${key}`)
  }
})

test('units with child programs allow the system call with which setpriv prepares them', () => {
  for (const name of ['master', 'media-node']) {
    const filters = settingsOf(name).flatMap(([key, value]) => (key === 'SystemCallFilter' ? [value] : []))
    assert.deepEqual(filters, ['@system-service', '~@privileged', 'capset'])
  }
})

test('the documented commands install a version, and a later one in its place', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'installation-'))
  t.after(() => rmSync(root, { recursive: true }))
  const documentation = readFileSync(join(FOLDER, '../../docs/deploy/single-machine.md'), 'utf8')
  const [block] = documentation.match(/(?<=^eval .*\n)install -D [^`]*/m)
  const commands = block.replaceAll(/\/(opt|etc)\//g, `${root}/$1/`).replaceAll(' collected/', ` ${root}/collected/`)
  mkdirSync(join(root, 'etc/systemd/system'), { recursive: true })
  for (const version of ['1', '2']) {
    for (const name of ['master', 'media-node-full', 'playground']) {
      mkdirSync(join(root, 'collected', name), { recursive: true })
      writeFileSync(join(root, 'collected', name, version), '')
    }
    const cwd = join(FOLDER, '../..')
    const { status, stderr } = spawnSync('sh', ['-e', '-c', commands], { cwd, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    for (const name of NAMES) assert.deepEqual(readdirSync(join(root, 'opt/session-service', name)), [version])
    rmSync(join(root, 'collected'), { recursive: true })
  }
  assert.equal(readdirSync(join(root, 'etc/systemd/system')).length, NAMES.length)
  assert.equal(statSync(join(root, 'etc/session-service')).mode & 0o777, 0o700)
})

const skip = which('systemd-analyze', process.env) === undefined && 'systemd-analyze is not installed'

test('systemd accepts the units', { skip }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'units-'))
  t.after(() => rmSync(folder, { recursive: true }))
  // The programs are not installed here.
  const files = NAMES.map((name) => {
    const file = join(folder, `session-service-${name}.service`)
    writeFileSync(file, textOf(name).replace(/^ExecStart=.*$/m, 'ExecStart=/bin/true'))
    return file
  })
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  })
  const output = (stdout + stderr).split('\n').filter((line) => line.includes(folder))
  assert.deepEqual([output, existsSync(files[0]), status], [[], true, 0])
})
