// The properties of libs/config, and the chart's values that set them.

/** Properties that have a value of their own in the chart, so that `config` does not accept them. */
export const OWN_VALUES = {
  master: {
    NATS_URL: 'nats, externalNats',
    SERVICE_BUS_CLUSTER: 'global.busCluster',
    SERVICE_RUN_AS: 'podSecurityContext',
    SERVICE_SECRET: 'apiSecret',
    DATABASE_URL: 'postgres, externalPostgres',
    SERVICE_PUBLICURL: 'publicUrl',
    SERVICE_TRUSTED_PROXIES: 'trustedProxies',
    SERVICE_SHUTDOWN_DELAY: 'master.shutdownDelay',
    SERVICE_CDR: 'callRecords.enabled',
    SERVICE_CDR_PATH: 'callRecords.volume',
    SERVICE_RECORDING: 'recording.enabled',
    SERVICE_RECORDING_PATH: 'recording.volume',
    SERVICE_PRO_RECORDING_STORAGE: 'recording.storage',
    SERVICE_PRO_AWS_S3_BUCKET: 'recording.s3.bucket',
    SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: 'recording.s3.endpoint',
    SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: 'recording.s3.pathStyle',
    SERVICE_PRO_AWS_REGION: 'recording.s3.region',
    SERVICE_PRO_AWS_ACCESS_KEY: 'recording.s3.accessKey, recording.s3.existingSecret',
    SERVICE_PRO_AWS_SECRET_KEY: 'recording.s3.secretKey, recording.s3.existingSecret',
    SERVICE_PRO_CLUSTER_ENVIRONMENT: 'mediaNodes.scaling.mode',
    SERVICE_PRO_CLUSTER_AUTOSCALING: 'mediaNodes.scaling.mode',
    SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: 'mediaNodes.scaling.min',
    SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: 'mediaNodes.scaling.max',
    SERVICE_PRO_CLUSTER_MEDIA_NODES: 'mediaNodes.replicas, mediaNodes.scaling.min',
    MEDIA_NODE_NATS_URL: 'nats, externalNats',
    SERVICE_KUBERNETES_POD_TEMPLATE: 'mediaNodes.scaling.mode',
    SERVICE_KUBERNETES_POD_SELECTOR: 'mediaNodes.scaling.mode',
  },
  node: {
    NATS_URL: 'nats, externalNats',
    SERVICE_BUS_CLUSTER: 'global.busCluster',
    SERVICE_RUN_AS: 'podSecurityContext',
    SERVICE_OPS_PORT: 'mediaNodes.opsPort',
    SERVICE_RECORDING_PATH: 'recording.volume',
    MEDIA_NODE_ID: 'the name of the pod',
    MEDIA_NODE_ENVIRONMENT_ID: 'the name of the pod',
    MEDIA_NODE_ANNOUNCED_ADDRESS: 'mediaNodes.announcedAddress.value',
    MEDIA_NODE_ADDRESS_SOURCES: 'mediaNodes.announcedAddress.sources',
    MEDIA_NODE_ANNOUNCED_ADDRESS_FILE: 'mediaNodes.announcedAddress.fromNode',
    MEDIA_NODE_HOST_IP: 'the address of the machine',
    MEDIA_NODE_STUN_SERVER: 'mediaNodes.announcedAddress.stunServer',
    MEDIA_NODE_DRAIN_TIMEOUT: 'mediaNodes.drainTimeout',
    MEDIA_NODE_WORKERS: 'mediaNodes.workers',
    MEDIA_NODE_RTC_PORT: 'mediaNodes.rtcPort',
    MEDIA_NODE_RECORDING_PATH: 'recording.scratch',
    MEDIA_NODE_RECORDING_FINISH_TIMEOUT: 'recording.finishTimeout',
  },
}

/** The properties of one kind of process: `{ config, secretConfig, own }`, each by name. */
export function propertiesOf(kind, sections) {
  const all = sections
    .flatMap(([, properties]) => Object.entries(properties))
    .filter(([, { audience }]) => audience === 'both' || audience === kind)
  const isOwn = ([name]) => Object.hasOwn(OWN_VALUES[kind], name)
  const rest = all.filter((entry) => !isOwn(entry))
  return {
    own: Object.fromEntries(all.filter(isOwn)),
    secretConfig: Object.fromEntries(rest.filter(([, { secret }]) => secret)),
    config: Object.fromEntries(rest.filter(([, { secret }]) => !secret)),
  }
}

/** JSON schema of the value of a property in `config`. */
export function schemaOfProperty({ type, meaning, unit }) {
  const { json = { type: 'string' }, label } = type
  const description = unit === undefined ? meaning : `${meaning}, in ${unit}`
  if (json.type === 'string' && label.startsWith('a JSON array')) return { type: 'array', description }
  if (json.type === 'string' && label.startsWith('a JSON object')) return { type: 'object', description }
  if (json.enum !== undefined || json.type !== 'string') return { ...json, description }
  const kinds = label.includes('integer') ? ['integer', 'string'] : 'string'
  return { type: kinds, description: `${description}: ${label}` }
}

/** JSON schema of a source of a secret property. */
export const secretSource = (property) => ({
  oneOf: [
    {
      type: 'object',
      properties: { value: schemaOfProperty(property) },
      required: ['value'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: { existingSecret: { type: 'string', minLength: 1 }, key: { type: 'string', minLength: 1 } },
      required: ['existingSecret', 'key'],
      additionalProperties: false,
    },
  ],
  description: property.meaning,
})
