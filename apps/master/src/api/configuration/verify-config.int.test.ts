import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadMasterConfig, overriddenConfig } from '@session-service/config'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Verified, verifyConfig } from './verify-config.js'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'verify-'))
  await writeFile(join(root, 'file'), 'x')
  await mkdir(join(root, 'recordings'))
  await symlink('/etc', join(root, 'outside'))
  await symlink(join(root, 'recordings'), join(root, 'inside'))
})
afterAll(() => rm(root, { recursive: true }))

const at = (text: string): string => text.replaceAll('$ROOT', root)

async function verify(overrides: Record<string, string>, set: Record<string, string> = {}): Promise<Verified> {
  const env = {
    SERVICE_SECRET: 'MY_SECRET',
    DATABASE_URL: 'postgres://app@db/service',
    SERVICE_RESTART_PATHS: JSON.stringify([root, '/proc']),
    ...Object.fromEntries(Object.entries(set).map(([name, value]) => [name, at(value)])),
  }
  const values = Object.fromEntries(Object.entries(overrides).map(([name, value]) => [name, at(value)]))
  expect(loadMasterConfig(env)).toBeDefined()
  const config = overriddenConfig(env, values)
  return verifyConfig({ env, overrides: values, config, changed: Object.keys(values) })
}

const WEBHOOK = { SERVICE_WEBHOOK: 'true', SERVICE_WEBHOOK_ENDPOINT: 'https://example.org/hook' }

describe('verifyConfig', () => {
  it.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    [
      'a folder that the file system refuses',
      { SERVICE_RECORDING_PATH: '/proc/x' },
      {},
      /^SERVICE_RECORDING_PATH: the folder "\/proc\/x" cannot be created and written: E/,
    ],
    [
      'a folder below a file',
      { SERVICE_RECORDING_PATH: '$ROOT/file/x' },
      {},
      /^SERVICE_RECORDING_PATH: .*: (ENOTDIR|EEXIST)$/,
    ],
    [
      'recording with a folder of the environment that cannot be made',
      { SERVICE_RECORDING: 'true' },
      { SERVICE_RECORDING_PATH: '/proc/x' },
      /^SERVICE_RECORDING_PATH: /,
    ],
    [
      'call records with a folder of the environment that cannot be made',
      { SERVICE_CDR: 'true' },
      { SERVICE_CDR_PATH: '/proc/x' },
      /^SERVICE_CDR_PATH: /,
    ],
    [
      'a link out of the allowed folders',
      { SERVICE_RECORDING_CUSTOM_LAYOUT: '$ROOT/outside/ssl' },
      {},
      /^SERVICE_RECORDING_CUSTOM_LAYOUT: ".*\/outside\/ssl" is a link out of/,
    ],
    [
      'a folder of layouts that is a file',
      { SERVICE_RECORDING_CUSTOM_LAYOUT: '$ROOT/file' },
      {},
      /^SERVICE_RECORDING_CUSTOM_LAYOUT: .* is not a folder$/,
    ],
    [
      'a webhook with a file of authorities that is missing',
      WEBHOOK,
      { SERVICE_WEBHOOK_CA_FILE: '$ROOT/none.pem' },
      /^SERVICE_WEBHOOK_CA_FILE: cannot be used: ENOENT/,
    ],
    [
      'a webhook with a file of authorities that is no certificate',
      WEBHOOK,
      { SERVICE_WEBHOOK_CA_FILE: '$ROOT/bad.pem' },
      /^SERVICE_WEBHOOK_CA_FILE: cannot be used: /,
    ],
  ])('names the property of %s', async (_, overrides, env, expected) => {
    await writeFile(join(root, 'bad.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const { problems } = await verify(overrides, env)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(expected)
  })

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['a folder that does not exist yet', { SERVICE_RECORDING_PATH: '$ROOT/new/folder' }, {}],
    ['a link within the allowed folders', { SERVICE_RECORDING_PATH: '$ROOT/inside/x' }, {}],
    ['a webhook', { ...WEBHOOK, SERVICE_WEBHOOK_HEADERS: '["Authorization: Bearer x"]' }, {}],
    ['a change that does not concern a broken folder', { SERVICE_CDR: 'false' }, { SERVICE_RECORDING_PATH: '/proc/x' }],
  ])('accepts %s', async (_, overrides, env) => {
    expect(await verify(overrides, env)).toEqual({ problems: [], warnings: [] })
  })

  it('leaves no file behind', async () => {
    await verify({ SERVICE_RECORDING_PATH: '$ROOT/recordings' })
    expect((await readdir(join(root, 'recordings'))).filter((name) => name.startsWith('.write-test'))).toEqual([])
  })

  it('warns about a missing folder of layouts and a receiver that events are not posted to', async () => {
    const overrides = { SERVICE_RECORDING_CUSTOM_LAYOUT: '$ROOT/none' }
    const { warnings } = await verify({ ...WEBHOOK, ...overrides, SERVICE_WEBHOOK_ENDPOINT: 'http://10.0.0.1/' })
    expect(warnings).toEqual([
      `SERVICE_RECORDING_CUSTOM_LAYOUT: there is no folder "${root}/none" yet`,
      'SERVICE_WEBHOOK_ENDPOINT: no event is posted: 10.0.0.1 is a private address, which SERVICE_WEBHOOK_ALLOWED_ADDRESSES does not name',
    ])
  })
})
