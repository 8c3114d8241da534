import { randomBytes } from 'node:crypto'
import {
  type BusRole,
  busAccount,
  busPermissions,
  busScope,
  disconnectAdvisory,
  SUBJECT,
} from '@session-service/contract'
import { hashSync } from 'bcryptjs'

/** The lowest cost of bcrypt: the passwords are random, and the server checks one with each connection. */
const BCRYPT_COST = 4

interface NatsUser {
  user: string
  password: string
}

/** The two bus users of the processes of a cluster. */
export interface ClusterUsers extends Readonly<Record<BusRole, NatsUser>> {
  cluster: string
}

export const newPassword = (): string => randomBytes(24).toString('base64url')

export const clusterUsers = (cluster: string, passwords: Readonly<Record<BusRole, string>>): ClusterUsers => ({
  cluster,
  master: { user: `${cluster}-master`, password: passwords.master },
  node: { user: `${cluster}-node`, password: passwords.node },
})

export const newClusterUsers = (cluster: string): ClusterUsers =>
  clusterUsers(cluster, { master: newPassword(), node: newPassword() })

const withHash = ({ user, password }: NatsUser): NatsUser => ({ user, password: hashSync(password, BCRYPT_COST) })

/** Hashes the passwords for the configuration file, which processes of the cluster may be able to read. */
export const withHashedPasswords = (users: ClusterUsers): ClusterUsers => ({
  ...users,
  master: withHash(users.master),
  node: withHash(users.node),
})

/** The address of a bus server for one user. */
export function natsUrlOf(serverUrl: string, { user, password }: NatsUser): string {
  const url = new URL(serverUrl)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(password)
  return url.href.replace(/\/$/, '')
}

const list = (subjects: readonly string[]): string => `[${subjects.map((each) => JSON.stringify(each)).join(', ')}]`

const SYSTEM_ACCOUNT = 'SYS'

function userLines({ user, password }: NatsUser, cluster: string, role: BusRole): string[] {
  const { publish, subscribe, responds } = busPermissions(cluster, role)
  return [
    '      {',
    `        user: ${JSON.stringify(user)}`,
    `        password: ${JSON.stringify(password)}`,
    '        permissions: {',
    `          publish: { allow: ${list(publish)} }`,
    `          subscribe: { allow: ${list(subscribe)} }`,
    // The command that starts a recording is answered when its file has content, which may take 35 s.
    ...(responds ? ['          allow_responses: { max: 1, expires: "1m" }'] : []),
    '        }',
    '      }',
  ]
}

/** Only the account of a cluster may import the reports about its own connections. */
const exportLines = ({ cluster }: ClusterUsers): string[] => [
  `      { stream: "${disconnectAdvisory(cluster)}", accounts: ["${busAccount(cluster)}"] }`,
]

const accountLines = (users: ClusterUsers): string[] => [
  `  "${busAccount(users.cluster)}": {`,
  '    imports: [',
  `      { stream: { account: "${SYSTEM_ACCOUNT}", subject: "${disconnectAdvisory(users.cluster)}" }, to: "${busScope(users.cluster, 'master').prefix}${SUBJECT.disconnected}" }`,
  '    ]',
  '    users: [',
  ...userLines(users.master, users.cluster, 'master'),
  ...userLines(users.node, users.cluster, 'node'),
  '    ]',
  '  }',
]

/**
 * The accounts in the configuration of nats-server (2.9 or later), which rejects all other clients. NATS sends no
 * advisories about its default account, so each cluster has its own.
 */
export const natsAuthorization = (clusters: readonly ClusterUsers[]): string[] => [
  `system_account: "${SYSTEM_ACCOUNT}"`,
  'accounts {',
  `  "${SYSTEM_ACCOUNT}": {`,
  '    exports: [',
  ...clusters.flatMap(exportLines),
  '    ]',
  '  }',
  ...clusters.flatMap(accountLines),
  '}',
]
