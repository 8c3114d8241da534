import { type KubernetesApi, KubernetesError } from '../control-plane/api-client.js'

export interface NodeOptions {
  name: string
  labels?: Readonly<Record<string, string>>
  annotations?: Readonly<Record<string, string>>
  capacity?: Readonly<Record<string, string>>
}

/** A machine of the cluster. */
export interface RigNode {
  name: string
  /** On loopback, like all its addresses. */
  address: string
  capacity: Readonly<Record<string, string>>
  isLost: boolean
  /** The shortage that it reports. */
  pressure: Pressure | undefined
}

const CAPACITY = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '100Gi', pods: '110' }
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const LEASE_SECONDS = 10

const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const
export type Pressure = (typeof PRESSURES)[number]

const conditions = (pressure?: Pressure): object[] => [
  { type: 'Ready', status: 'True', reason: 'KubeletReady' },
  ...PRESSURES.map((type) => ({ type, status: type === pressure ? 'True' : 'False' })),
]

/** Creates the object of a node; the controllers then remove the taint of nodes that are not ready. */
export async function registerNode(api: KubernetesApi, address: string, options: NodeOptions): Promise<RigNode> {
  const { name, labels = {}, annotations = {}, capacity = CAPACITY } = options
  const status = {
    capacity,
    allocatable: capacity,
    conditions: conditions(),
    addresses: ['InternalIP', 'ExternalIP'].map((type) => ({ type, address })),
  }
  const known = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
  await api.create('/api/v1/nodes', {
    metadata: { name, labels: { ...known, ...labels }, annotations },
    spec: {},
    status,
  })
  const node = { name, address, capacity, isLost: false, pressure: undefined }
  await heartbeat(api, node)
  return node
}

/** Renews the lease of the node, without which the controllers declare it lost, and its conditions, which end that. */
export async function heartbeat(api: KubernetesApi, node: RigNode): Promise<void> {
  await Promise.all([renewLease(api, node), reportConditions(api, node)])
}

async function renewLease(api: KubernetesApi, { name }: RigNode): Promise<void> {
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  try {
    await api.patch(`${LEASES}/${name}`, { spec: { renewTime } })
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.status !== 404) throw error
    await api.create(LEASES, {
      metadata: { name },
      spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime },
    })
  }
}

/** Writes the state and the shortage of the node; the controllers taint it accordingly. */
export const reportConditions = (api: KubernetesApi, { name, pressure }: RigNode): Promise<unknown> =>
  api.patch(`/api/v1/nodes/${name}/status`, { status: { conditions: conditions(pressure) } })
