// values.schema.json: types from values.yaml, properties from libs/config, and the rules of rules.mjs.
import { parseYaml } from '@redocly/openapi-core'
import { propertiesOf, schemaOfProperty, secretSource } from './properties.mjs'
import { schemaOfRules } from './rules.mjs'
import { documentedValues } from './values.mjs'

const choice = (...values) => ({ enum: values })
const integer = (minimum, maximum) => ({ type: 'integer', minimum, maximum })
const port = integer(1, 65_535)
const text = (pattern) => ({ type: 'string', pattern })
/** Passwords become parts of URLs and of the configuration of nats-server. */
const PASSWORD = text('^([A-Za-z][A-Za-z0-9_-]*)?$')
const COUNT = integer(0, 1000)
const SECONDS = integer(0, 1_000_000)
const texts = { type: 'array', items: { type: 'string', minLength: 1 } }
const objects = { type: 'array', items: { type: 'object' } }
const URL_OR_EMPTY = (schemes) => text(`^((${schemes}):[/][/].+)?$`)

/** The schemas that the defaults in values.yaml do not show, by path. */
const KNOWN = {
  'global.imagePullSecrets': objects,
  'global.ipFamilyPolicy': choice('', 'SingleStack', 'PreferDualStack', 'RequireDualStack'),
  'global.ipFamilies': { type: 'array', items: choice('IPv4', 'IPv6'), maxItems: 2 },
  'global.busCluster': text('^[A-Za-z0-9_-]{1,64}$'),
  'apiSecret.value': { ...text('^[A-Za-z0-9_-]*$'), maxLength: 1024 },
  publicUrl: URL_OR_EMPTY('https?'),
  trustedProxies: texts,
  'master.replicas': integer(1, 100),
  'master.shutdownDelay': integer(0, 20),
  'master.terminationGracePeriodSeconds': SECONDS,
  'master.service.type': choice('ClusterIP', 'NodePort', 'LoadBalancer'),
  'master.service.port': port,
  'master.service.nodePort': integer(0, 65_535),
  'mediaNodes.replicas': COUNT,
  'mediaNodes.image.variant': choice('', 'media', 'full'),
  'mediaNodes.scaling.mode': choice('fixed', 'driver', 'hpa', 'keda'),
  'mediaNodes.scaling.min': integer(1, 1000),
  'mediaNodes.scaling.max': integer(1, 1000),
  'mediaNodes.scaling.hpa.target': { type: ['string', 'number'] },
  'mediaNodes.scaling.keda.serverAddress': URL_OR_EMPTY('https?'),
  'mediaNodes.exposure.mode': choice('hostPort', 'hostNetwork', 'nodePort', 'loadBalancerPerPod', 'turnOnly'),
  'mediaNodes.exposure.nodePort.externalTrafficPolicy': choice('Local', 'Cluster'),
  'mediaNodes.exposure.loadBalancerPerPod.slots': {
    type: 'array',
    items: {
      type: 'object',
      properties: { address: { type: 'string', minLength: 1 }, annotations: { type: 'object' } },
      required: ['address'],
      additionalProperties: false,
    },
  },
  'mediaNodes.exposure.loadBalancerPerPod.protocols': { type: 'array', minItems: 1, items: choice('UDP', 'TCP') },
  'mediaNodes.exposure.loadBalancerPerPod.sourceRanges': texts,
  'mediaNodes.announcedAddress.value': text('^[0-9A-Za-z.:_-]{0,255}$'),
  'mediaNodes.announcedAddress.sources': texts,
  'mediaNodes.announcedAddress.stunServer': text(String.raw`^([^\s:]+|\[[0-9a-fA-F:]+\])?(:[0-9]+)?$`),
  'mediaNodes.rtcPort': integer(1024, 65_535),
  'mediaNodes.opsPort': integer(1024, 65_535),
  'mediaNodes.workers': integer(1, 256),
  'mediaNodes.restartId': { type: ['string', 'integer'] },
  'mediaNodes.drainTimeout': integer(0, 604_800),
  'mediaNodes.terminationGracePeriodSeconds': SECONDS,
  'recording.storage': choice('volume', 's3'),
  'recording.volume.accessMode': choice('ReadWriteOnce', 'ReadWriteMany'),
  'recording.finishTimeout': integer(0, 604_800),
  'recording.scratch.type': choice('ephemeral', 'shared', 'emptyDir'),
  'recording.s3.endpoint': URL_OR_EMPTY('https?'),
  'callRecords.volume.accessMode': choice('ReadWriteOnce', 'ReadWriteMany'),
  'playground.service.type': choice('ClusterIP', 'NodePort', 'LoadBalancer'),
  'playground.service.port': port,
  'turn.host': text('^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)?$'),
  'turn.tls.port': port,
  'turn.credentialsTtl': integer(60, 31_536_000),
  'turn.minPort': integer(1024, 65_535),
  'turn.maxPort': integer(1024, 65_535),
  'turn.replicas': integer(1, 100),
  // coturn reads ranges, no CIDR.
  'turn.allowedPeers': { type: 'array', items: text('^[0-9a-fA-F.:]+(-[0-9a-fA-F.:]+)?$') },
  'turn.secret.value': text('^[A-Za-z0-9_-]*$'),
  'turn.service.type': choice('ClusterIP', 'NodePort', 'LoadBalancer'),
  'ingress.controller': choice('nginx', 'traefik', 'haproxy', 'gke', 'alb', 'other'),
  'ingress.timeout': integer(60, 1_000_000),
  'gateway.parentRefs': objects,
  'gateway.controller': choice('other', 'gke'),
  'gateway.timeout': integer(60, 1_000_000),
  'networkPolicy.opsFrom': objects,
  'networkPolicy.postgresFrom': objects,
  'networkPolicy.apiFrom': objects,
  'networkPolicy.machineCidrs': texts,
  'networkPolicy.masterEgress': objects,
  'networkPolicy.mediaNodeEgress': objects,
  'monitoring.kind': choice('none', 'PodMonitor', 'ServiceMonitor'),
  'nats.replicas': choice(1, 3, 5),
  'nats.auth.masterPassword': PASSWORD,
  'nats.auth.nodePassword': PASSWORD,
  'externalNats.masterUrl': URL_OR_EMPTY('nats|tls'),
  'externalNats.nodeUrl': URL_OR_EMPTY('nats|tls'),
  'postgres.auth.password': text('^[A-Za-z0-9_-]*$'),
  'externalPostgres.url': URL_OR_EMPTY('postgres|postgresql'),
}

function schemaOfDefault(value) {
  if (Array.isArray(value)) return { type: 'array' }
  if (typeof value === 'number') return { type: 'integer', minimum: 0 }
  return { type: typeof value }
}

const group = (properties) => ({ type: 'object', additionalProperties: false, properties })
const fromTable = (properties, schemaOf) =>
  group(Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, schemaOf(property)])))

/** Schemas by path of the values that take properties of libs/config. */
function configSchemas(sections) {
  const [master, node] = ['master', 'node'].map((kind) => propertiesOf(kind, sections))
  return {
    'master.config': fromTable(master.config, schemaOfProperty),
    'master.secretConfig': fromTable(master.secretConfig, secretSource),
    'mediaNodes.config': fromTable(node.config, schemaOfProperty),
    'mediaNodes.secretConfig': fromTable(node.secretConfig, secretSource),
  }
}

/** The JSON schema of the chart's values. */
export function valuesSchema(source, sections) {
  const known = { ...KNOWN, ...configSchemas(sections) }
  const meanings = new Map(documentedValues(source).map(({ path, text: meaning }) => [path.join('.'), meaning]))
  const used = new Set()
  const walk = (value, path) => {
    const name = path.join('.')
    if (known[name]) used.add(name)
    const description = meanings.get(name)
    if (description !== undefined) return { ...(known[name] ?? schemaOfDefault(value)), description }
    return group(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, [...path, key])])))
  }
  const schema = walk(parseYaml(source), [])
  const unused = Object.keys(known).filter((name) => !used.has(name))
  if (unused.length > 0) throw new Error(`schemas of values that values.yaml does not have: ${unused.join(', ')}`)
  // helm gives every chart the global values.
  for (const chart of ['nats', 'postgres']) schema.properties[chart].properties.global = { type: 'object' }
  schema.properties.global.additionalProperties = true
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values', ...schema, allOf: schemaOfRules() }
}
