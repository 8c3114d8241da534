import { randomBytes } from 'node:crypto'
import { realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError, type Environment, isWithin, type MasterConfig, overriddenPaths } from '@session-service/config'
import { isErrno, makeFolder, withTimeout } from '@session-service/server-kit'
import { accountsOf, BasicCredentials } from '../../platform/authentication/basic-credentials.js'
import { signingSecrets } from '../../platform/authentication/signing-secrets.js'
import { AddressGuard } from '../../events/webhook/webhook-address.js'
import { WebhookPost } from '../../events/webhook/webhook-post.js'
import { S3Storage } from '../../recordings/storage/s3-storage.js'
import { UploadTokens } from '../../recordings/storage/upload-token.js'

/** Time-out of operations on the disk, ms. */
const DISK_MS = 5_000

export interface Verified {
  /** Each begins with the name of the property. */
  problems: string[]
  warnings: string[]
}

interface Candidate {
  env: Environment
  overrides: Environment
  config: MasterConfig
  /** The properties whose values are new. */
  changed: readonly string[]
}

type Check = (verified: Verified) => Promise<void> | void

/**
 * Checks what the schema of a property cannot: builds the clients, creates and writes the folders, uses the keys. Only
 * the properties that changed are checked.
 */
export async function verifyConfig(candidate: Candidate): Promise<Verified> {
  const verified: Verified = { problems: [], warnings: [] }
  await checkRoots(candidate, verified)
  // The checks below create folders: only inside the allowed ones.
  if (verified.problems.length > 0) return verified
  for (const check of checksOf(candidate)) await check(verified)
  return verified
}

function checksOf({ config, changed }: Candidate): Check[] {
  const has = (...names: (keyof MasterConfig)[]): boolean => names.some((name) => changed.includes(name))
  const checks: Check[] = []
  if (has('SERVICE_RECORDING_PATH') || (has('SERVICE_RECORDING') && config.SERVICE_RECORDING))
    checks.push(writes('SERVICE_RECORDING_PATH', config.SERVICE_RECORDING_PATH))
  if (has('SERVICE_CDR') && config.SERVICE_CDR) checks.push(writes('SERVICE_CDR_PATH', config.SERVICE_CDR_PATH))
  if (has('SERVICE_RECORDING_CUSTOM_LAYOUT')) checks.push((verified) => checkLayouts(config, verified))
  if (has('SERVICE_RECORDING') && config.SERVICE_RECORDING && config.SERVICE_PRO_RECORDING_STORAGE === 's3')
    checks.push(builds('SERVICE_PRO_RECORDING_STORAGE', () => new S3Storage(config).open()))
  if (has('SERVICE_SECRET'))
    checks.push(
      builds('SERVICE_SECRET', () => [
        new BasicCredentials(accountsOf(config)),
        new UploadTokens(signingSecrets(config)),
      ]),
    )
  if (config.SERVICE_WEBHOOK && changed.some((name) => name.startsWith('SERVICE_WEBHOOK')))
    checks.push(...webhook(config))
  return checks
}

const memberOf = (error: unknown, name: 'code' | 'message'): string | undefined =>
  typeof error === 'object' && error !== null && name in error
    ? String((error as Record<string, unknown>)[name])
    : undefined

const messageOf = (error: unknown): string => memberOf(error, 'message') ?? String(error)

/** The code of a system error without its message, which repeats the path. */
const reasonOf = (error: unknown): string => memberOf(error, 'code') ?? messageOf(error)

const builds =
  (name: string, build: () => unknown): Check =>
  async ({ problems }) => {
    try {
      await build()
    } catch (error) {
      const own = error instanceof ConfigError ? error.problems : [`${name}: cannot be used: ${messageOf(error)}`]
      problems.push(...own)
    }
  }

const writes =
  (name: string, folder: string): Check =>
  async ({ problems }) => {
    await withTimeout(() => writeTest(folder), DISK_MS, 'writing to the disk').catch((error: unknown) =>
      problems.push(`${name}: the folder "${folder}" cannot be created and written: ${reasonOf(error)}`),
    )
  }

async function writeTest(folder: string): Promise<void> {
  await makeFolder(folder)
  const file = join(folder, `.write-test.${randomBytes(8).toString('hex')}`)
  try {
    await writeFile(file, 'x', { flag: 'wx', flush: true })
  } finally {
    await rm(file, { force: true })
  }
}

async function checkLayouts(
  { SERVICE_RECORDING_CUSTOM_LAYOUT: folder }: MasterConfig,
  verified: Verified,
): Promise<void> {
  const name = 'SERVICE_RECORDING_CUSTOM_LAYOUT'
  try {
    const found = await withTimeout(() => stat(folder), DISK_MS, 'reading the disk')
    if (!found.isDirectory()) verified.problems.push(`${name}: "${folder}" is not a folder`)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) verified.warnings.push(`${name}: there is no folder "${folder}" yet`)
    else verified.problems.push(`${name}: the folder "${folder}" cannot be read: ${reasonOf(error)}`)
  }
}

/** Rejects symbolic links below an allowed folder that lead out of the allowed ones. */
async function checkRoots({ env, overrides, config }: Candidate, { problems }: Verified): Promise<void> {
  for (const { name, folder, roots } of overriddenPaths(env, overrides, config)) {
    const places = withTimeout(() => Promise.all([folder, ...roots].map(realPlace)), DISK_MS, 'reading the disk')
    const [place = folder, ...allowed] = await places.catch((error: unknown) => {
      problems.push(`${name}: the folder "${folder}" cannot be read: ${reasonOf(error)}`)
      return []
    })
    if (allowed.length > 0 && !allowed.some((root) => isWithin(root, place)))
      problems.push(`${name}: "${folder}" is a link out of the folders that the environment allows`)
  }
}

/** The path without symbolic links; its part that does not exist yet stays as it is. */
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(path) === path) throw error
    return join(await realPlace(dirname(path)), path.slice(dirname(path).length))
  }
}

function webhook(config: MasterConfig): Check[] {
  const receiver = {
    endpoint: config.SERVICE_WEBHOOK_ENDPOINT,
    headers: [] as string[],
    secrets: [] as string[],
    allowedAddresses: config.SERVICE_WEBHOOK_ALLOWED_ADDRESSES,
    caFile: '',
    timeoutMs: config.SERVICE_WEBHOOK_TIMEOUT,
    now: () => 0,
  }
  const posts = (name: keyof MasterConfig, part: Partial<typeof receiver>): Check =>
    builds(name, () => new WebhookPost({ ...receiver, ...part }).close())
  return [
    posts('SERVICE_WEBHOOK_ENDPOINT', {}),
    posts('SERVICE_WEBHOOK_HEADERS', { headers: [...config.SERVICE_WEBHOOK_HEADERS] }),
    posts('SERVICE_WEBHOOK_SECRETS', { secrets: [...config.SERVICE_WEBHOOK_SECRETS] }),
    posts('SERVICE_WEBHOOK_CA_FILE', { caFile: config.SERVICE_WEBHOOK_CA_FILE }),
    ({ warnings }) => {
      const refusal = new AddressGuard(receiver.allowedAddresses).refusal(URL.parse(receiver.endpoint)?.hostname ?? '')
      if (refusal !== undefined) warnings.push(`SERVICE_WEBHOOK_ENDPOINT: no event is posted: ${refusal}`)
    },
  ]
}
