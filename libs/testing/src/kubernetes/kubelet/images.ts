import {
  type Account,
  findNatsServer,
  findPostgres,
  programPath,
  serverAccount,
  systemEnv,
} from '@session-service/local-stack'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** This build: the root of the workspace. */
const OWN_BUILD = resolve(import.meta.dirname, '../../../../..')

interface ImageContext {
  podAddress: string
  /** For small programs that images contain. */
  programsFolder: string
  /** The roots of other builds by the tag of their images. */
  builds: ReadonlyMap<string, string>
}

/** A program of this machine that stands for an image. */
export interface ImageProgram {
  /** The command that runs without one in the container, followed by its arguments. */
  entrypoint: readonly string[]
  /** Arguments that follow those of the container. */
  lastArguments: readonly string[]
  env: Readonly<Record<string, string>>
  /** Variables that name folders of the image; they are set where a volume is mounted there. */
  folderVariables: Readonly<Record<string, string>>
  /** Properties that default to all interfaces, or are set to them: in a pod these are its own address. */
  listenProperties: readonly string[]
  /** Those of them whose ports may be ports of the machine, and then are open on the address of the machine. */
  hostPortProperties: readonly string[]
  /** Folders of the image. */
  folders: readonly { path: string; folder: string }[]
  stopSignal: NodeJS.Signals
  account?: Account | undefined
}

type Build = (context: ImageContext, tag: string) => ImageProgram

const PLAIN = {
  lastArguments: [],
  listenProperties: [],
  hostPortProperties: [],
  folders: [],
  folderVariables: {},
  stopSignal: 'SIGTERM',
} as const

const NODE_APP_FOLDERS = {
  SERVICE_RECORDING_PATH: '/opt/service/recordings',
  MEDIA_NODE_RECORDING_PATH: '/opt/service/recordings/.jobs',
  SERVICE_CDR_PATH: '/opt/service/cdr',
  TMPDIR: '/tmp',
}

const nodeApp =
  (
    app: 'master' | 'media-node' | 'playground',
    listenProperties: readonly string[],
    hostPortProperties: readonly string[] = [],
  ): Build =>
  ({ builds }, tag) => {
    const root = builds.get(tag) ?? OWN_BUILD
    return {
      ...PLAIN,
      entrypoint: [process.execPath, '--enable-source-maps', programPath(app, root)],
      env: systemEnv(),
      folderVariables: NODE_APP_FOLDERS,
      listenProperties,
      hostPortProperties,
      folders: [{ path: '/app', folder: root }],
    }
  }

const nats: Build = ({ podAddress }) => {
  const program = findNatsServer(process.env)
  return {
    ...PLAIN,
    entrypoint: [program],
    lastArguments: ['--addr', podAddress],
    env: { PATH: `${dirname(program)}:${process.env.PATH}` },
  }
}

/** The part of the image's entry point that the chart relies on. */
const POSTGRES_SCRIPT = `
set -eu
umask 077
: "\${PGDATA:=$PWD/image/data}"
[ "\${1:-}" = postgres ] && shift
[ -n "\${POSTGRES_PASSWORD_FILE:-}" ] && POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
user=\${POSTGRES_USER:-postgres}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  printf '%s\\n' "$POSTGRES_PASSWORD" >"$PGDATA.password"
  initdb --pgdata="$PGDATA" --username="$user" --pwfile="$PGDATA.password" --auth=scram-sha-256 --encoding=UTF8 --locale=C
  rm "$PGDATA.password"
  [ "\${POSTGRES_DB:-$user}" = postgres ] ||
    printf 'CREATE DATABASE "%s"\\n' "\${POSTGRES_DB:-$user}" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c listen_addresses="$RIG_POD_ADDRESS" -c unix_socket_directories= -c io_method=sync "$@"
`

/** The server package has no clients. This stands for the one that probes call: whether the server accepts connections. */
const PG_ISREADY = '#!/bin/bash\nexec 3<>"/dev/tcp/$RIG_POD_ADDRESS/5432"\n'

const postgres: Build = ({ programsFolder }) => {
  const isReady = join(programsFolder, 'pg_isready')
  if (!existsSync(isReady)) writeFileSync(isReady, PG_ISREADY, { mode: 0o755 })

  const account = serverAccount()
  const program = findPostgres()
  return {
    ...PLAIN,
    entrypoint: ['/bin/sh', '-c', POSTGRES_SCRIPT, 'postgres'],
    env: { PATH: `${dirname(program)}:${programsFolder}:/usr/bin:/bin`, LC_ALL: 'C', TZ: 'UTC' },
    folderVariables: { PGDATA: '/var/lib/postgresql/data' },
    // A smart shutdown, the meaning of SIGTERM, waits for clients; the image names this signal.
    stopSignal: 'SIGINT',
    account,
  }
}

const IMAGES: readonly [repository: string, build: Build][] = [
  ['master', nodeApp('master', ['SERVICE_HOST', 'SERVICE_OPS_HOST'])],
  ['media-node', nodeApp('media-node', ['MEDIA_NODE_IP', 'SERVICE_OPS_HOST'], ['MEDIA_NODE_IP'])],
  ['playground', nodeApp('playground', ['PLAYGROUND_HOST'])],
  ['nats', nats],
  ['postgres', postgres],
]

/** The program for an image; undefined for one that no program here stands for. */
export function imageProgram(image: string, context: ImageContext): ImageProgram | undefined {
  const [, repository = '', tag = ''] = /^(?:.*\/)?([^/:@]+)(?::([^@]+))?(?:@.*)?$/.exec(image) ?? []
  const build = IMAGES.find(([name]) => name === repository)?.[1]
  return build?.(context, tag)
}
