export { isReady, KubernetesCluster, type ClusterOptions } from './cluster.js'
export { type KubernetesApi, KubernetesError } from './control-plane/api-client.js'
export { anyObject, pod, type Pod } from './control-plane/objects.js'
export type { RigNode } from './kubelet/nodes.js'
