import { availableParallelism } from 'node:os'
import { expect, it } from '@jest/globals'
import { type Facts, givenEnv, masterEnv, nodeEnv, pageUrl, playgroundEnv } from './environments.js'

const facts: Facts = {
  secret: 'hidden',
  databaseUrl: 'postgres://db',
  natsUrl: 'nats://master@bus',
  nodeNatsUrl: 'nats://node@bus',
  busCluster: 'ours',
  nodes: 2,
  nodeName: 'media_ours',
  dataFolder: '/data',
  ports: { service: 5000, playground: 5001, masterOps: 5002, nodeOps: [5003, 5004], postgres: 5005, nats: 5006 },
}

it('givenEnv keeps variables of the user and drops those of npm', () => {
  expect(givenEnv({ PATH: '/bin', npm_config_x: '1', NPM_TOKEN: '2', EMPTY: '', GONE: undefined })).toEqual({
    PATH: '/bin',
  })
})

it('properties pass through unless the launcher sets them', () => {
  const env = masterEnv(
    { SERVICE_SESSIONS_GARBAGE_INTERVAL: '5', SERVICE_PORT: '1', SERVICE_OPS_HOST: '0.0.0.0' },
    facts,
  )
  expect(env).toMatchObject({
    SERVICE_SESSIONS_GARBAGE_INTERVAL: '5',
    SERVICE_PORT: '5000',
    SERVICE_OPS_PORT: '5002',
    SERVICE_OPS_HOST: '0.0.0.0',
    SERVICE_SECRET: 'hidden',
    DATABASE_URL: 'postgres://db',
    NATS_URL: 'nats://master@bus',
    MEDIA_NODE_NATS_URL: 'nats://node@bus',
    SERVICE_BUS_CLUSTER: 'ours',
  })
  expect(masterEnv({}, facts).SERVICE_OPS_HOST).toBe('127.0.0.1')
})

it('a media node and the playground get no secrets of the master', () => {
  const given = {
    ...{
      SERVICE_SECRET: 'a',
      DATABASE_URL: 'postgres://b',
      SERVICE_PRO_AWS_SECRET_KEY: 'c',
      TURN_SHARED_SECRET_KEY: 'd',
    },
    ...{ NATS_URL: 'nats://e', MEDIA_NODE_NATS_URL: 'nats://f', PATH: '/bin', SERVICE_LOG_LEVEL: 'warn' },
  }
  const node = nodeEnv(given, facts, 0)
  expect(node).toMatchObject({ PATH: '/bin', SERVICE_LOG_LEVEL: 'warn', NATS_URL: 'nats://node@bus' })
  const page = playgroundEnv(given, facts)
  expect(page).toMatchObject({ PATH: '/bin', SERVICE_SECRET: 'hidden' })
  const secrets = ['DATABASE_URL', 'SERVICE_PRO_AWS_SECRET_KEY', 'TURN_SHARED_SECRET_KEY', 'MEDIA_NODE_NATS_URL']
  for (const name of [...secrets, 'SERVICE_SECRET']) expect(node).not.toHaveProperty(name)
  for (const name of [...secrets, 'NATS_URL']) expect(page).not.toHaveProperty(name)
})

it('LOG_LEVEL reaches the processes, unless their own property is set', () => {
  expect(masterEnv({ LOG_LEVEL: 'debug' }, facts).SERVICE_LOG_LEVEL).toBe('debug')
  expect(nodeEnv({ LOG_LEVEL: 'debug', SERVICE_LOG_LEVEL: 'warn' }, facts, 0).SERVICE_LOG_LEVEL).toBe('warn')
})

it('each process logs in the format that the launcher reads', () => {
  const given = { SERVICE_LOG_FORMAT: 'pretty' }
  for (const env of [masterEnv(given, facts), nodeEnv(given, facts, 0), playgroundEnv(given, facts)])
    expect(env.SERVICE_LOG_FORMAT).toBe('json')
})

it('media nodes divide the cores and have different names and ports', () => {
  const given = { MEDIA_NODE_ID: 'mine', MEDIA_NODE_RTC_PORT: '40000', MEDIA_NODE_WORKERS: '3' }
  expect(nodeEnv(given, facts, 0)).toMatchObject({
    MEDIA_NODE_ID: 'mine-1',
    MEDIA_NODE_RTC_PORT: '40000',
    SERVICE_OPS_PORT: '5003',
  })
  expect(nodeEnv(given, facts, 1)).toMatchObject({
    MEDIA_NODE_ID: 'mine-2',
    MEDIA_NODE_RTC_PORT: '40003',
    SERVICE_OPS_PORT: '5004',
  })
  expect(nodeEnv({}, facts, 0).MEDIA_NODE_WORKERS).toBe(String(Math.max(1, Math.floor(availableParallelism() / 2))))
  expect(nodeEnv({}, { ...facts, nodes: 1 }, 0).MEDIA_NODE_WORKERS).toBe(String(availableParallelism()))
  expect(nodeEnv({}, facts, 1)).toMatchObject({ SERVICE_BUS_CLUSTER: 'ours', NATS_URL: 'nats://node@bus' })
  expect(nodeEnv({}, facts, 1).MEDIA_NODE_ID).toBe('media_ours-2')
  expect(nodeEnv({}, { ...facts, nodes: 1 }, 0).MEDIA_NODE_ID).toBe('media_ours-1')
  expect(nodeEnv({ MEDIA_NODE_ID: 'mine' }, { ...facts, nodes: 1 }, 0).MEDIA_NODE_ID).toBe('mine')
  expect(nodeEnv({ MEDIA_NODE_RTC_PORT: '0' }, facts, 1).MEDIA_NODE_RTC_PORT).toBe('0')
})

it('recording is enabled when there is a compositor, unless the user disables it', () => {
  expect(masterEnv({}, facts)).toMatchObject({ SERVICE_RECORDING: 'false', SERVICE_RECORDING_PATH: '/data/recordings' })
  const ready = { COMPOSITOR_BIN: '/bin/compositor' }
  expect(masterEnv(ready, facts).SERVICE_RECORDING).toBe('true')
  expect(masterEnv({ ...ready, SERVICE_RECORDING: 'false' }, facts).SERVICE_RECORDING).toBe('false')
  const given = { SERVICE_RECORDING_PATH: '/elsewhere' }
  expect(masterEnv(given, facts)).toMatchObject(given)
  expect(nodeEnv(given, facts, 0)).toMatchObject(given)
})

it('each media node has its own recordings folder', () => {
  expect(nodeEnv({}, facts, 0).MEDIA_NODE_RECORDING_PATH).toBe('/data/media-nodes/1')
  expect(nodeEnv({}, facts, 1).MEDIA_NODE_RECORDING_PATH).toBe('/data/media-nodes/2')
  expect(nodeEnv({ MEDIA_NODE_RECORDING_PATH: '/jobs' }, facts, 1).MEDIA_NODE_RECORDING_PATH).toBe('/jobs/2')
})

it('the playground knows the service, and listens on loopback unless configured otherwise', () => {
  expect(playgroundEnv({}, facts)).toMatchObject({
    PLAYGROUND_HOST: '127.0.0.1',
    PLAYGROUND_PORT: '5001',
    SERVICE_URL: 'http://localhost:5000',
    SERVICE_SECRET: 'hidden',
  })
  expect(playgroundEnv({ PLAYGROUND_HOST: '0.0.0.0', SERVICE_URL: 'https://video.example.org' }, facts)).toMatchObject({
    PLAYGROUND_HOST: '0.0.0.0',
    SERVICE_URL: 'https://video.example.org',
  })
})

it('the service is reached at the only address on which it listens', () => {
  const given = { SERVICE_HOST: '192.0.2.7' }
  expect(masterEnv(given, facts).SERVICE_PUBLICURL).toBe('http://192.0.2.7:5000')
  expect(playgroundEnv(given, facts).SERVICE_URL).toBe('http://192.0.2.7:5000')
  expect(masterEnv({ SERVICE_HOST: '::' }, facts).SERVICE_PUBLICURL).toBe('http://localhost:5000')
  expect(masterEnv({ ...given, SERVICE_PUBLICURL: 'https://video.example.org' }, facts).SERVICE_PUBLICURL).toBe(
    'https://video.example.org',
  )
})

it('the page is reached at the only address on which it listens', () => {
  expect(pageUrl({}, facts.ports)).toBe('http://localhost:5001')
  expect(pageUrl({ PLAYGROUND_HOST: '0.0.0.0' }, facts.ports)).toBe('http://localhost:5001')
  expect(pageUrl({ PLAYGROUND_HOST: '192.0.2.7' }, facts.ports)).toBe('http://192.0.2.7:5001')
  expect(pageUrl({}, { playground: undefined })).toBeUndefined()
})

it('captions turn the engine on at masters, and name the files at media nodes, also at those that a master starts', () => {
  const speech = { lang: 'en-US', library: '/files/libvosk.so', models: '/files/models' }
  const files = { MEDIA_NODE_SPEECH_TO_TEXT_MODELS: '/files/models', MEDIA_NODE_VOSK_LIBRARY: '/files/libvosk.so' }
  const given = { SERVICE_PRO_SPEECH_TO_TEXT: 'disabled', MEDIA_NODE_VOSK_LIBRARY: '/other' }
  expect(masterEnv(given, { ...facts, speech })).toMatchObject({ ...files, SERVICE_PRO_SPEECH_TO_TEXT: 'vosk' })
  expect(nodeEnv(given, { ...facts, speech }, 1)).toMatchObject(files)
  expect(masterEnv(given, facts)).toMatchObject(given)
  expect(nodeEnv({}, facts, 0)).not.toHaveProperty('MEDIA_NODE_SPEECH_TO_TEXT_MODELS')
})

it('the dashboard is on unless the user disables it', () => {
  expect(masterEnv({}, facts).SERVICE_PRO_DASHBOARD).toBe('true')
  expect(masterEnv({ SERVICE_PRO_DASHBOARD: 'false' }, facts).SERVICE_PRO_DASHBOARD).toBe('false')
})
