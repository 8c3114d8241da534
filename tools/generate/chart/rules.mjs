// Combinations of values that the chart rejects: the condition, the value to change, and what it should be. helm shows
// the last two: "at '/turn/host': value must be '…'".

const at = (path, schema) =>
  path
    .split('.')
    .toReversed()
    .reduce((inner, name) => ({ properties: { [name]: inner } }), schema)

/** Conditions. All paths exist: helm validates values that are merged with values.yaml. */
const is = (path, ...values) => at(path, { enum: values })
const isEmpty = (path) => at(path, { enum: ['', null, 0] })
const isSet = (path) => at(path, { not: { enum: ['', null, 0] } })
const isEmptyList = (path) => at(path, { maxItems: 0 })
const hasMember = (path, name) => at(path, { required: [name] })
const lacksMember = (path, name) => at(path, { not: { required: [name] } })
const isOutside = (path, minimum, maximum) => at(path, { not: { minimum, maximum } })
const isMoreThan = (path, value) => at(path, { exclusiveMinimum: value })

const isOwnVolume = (path) => [isEmpty(`${path}.existingClaim`), is(`${path}.accessMode`, 'ReadWriteOnce')]
/** Masters connect only to what the chart knows, and to nothing else without rules. */
const HAS_NO_MASTER_EGRESS = [
  is('networkPolicy.enabled', true),
  is('networkPolicy.restrictEgress', true),
  isEmptyList('networkPolicy.masterEgress'),
]
const ELASTIC = ['driver', 'hpa', 'keda']
const PER_POD = ['nodePort', 'loadBalancerPerPod']

/** `when`: the rejected combination, all of it; `path` and `must`: what helm shows. */
export const RULES = [
  {
    when: [is('mediaNodes.scaling.mode', ...ELASTIC), is('mediaNodes.exposure.mode', ...PER_POD)],
    path: 'mediaNodes.exposure.mode',
    must: 'hostPort, hostNetwork or turnOnly unless mediaNodes.scaling.mode is fixed: only a fixed number of media nodes has a Service each',
  },
  {
    when: [is('mediaNodes.exposure.mode', 'nodePort'), isOutside('mediaNodes.rtcPort', 30_000, 32_767)],
    path: 'mediaNodes.rtcPort',
    must: 'from 30000 to 32767 with mediaNodes.exposure.mode nodePort: clients are given the port on which the node listens',
  },
  {
    when: [
      is('mediaNodes.exposure.mode', 'loadBalancerPerPod'),
      isEmptyList('mediaNodes.exposure.loadBalancerPerPod.slots'),
    ],
    path: 'mediaNodes.exposure.loadBalancerPerPod.slots',
    must: 'a list with the reserved address of each load balancer, because mediaNodes.exposure.mode is loadBalancerPerPod',
  },
  {
    when: [
      is('mediaNodes.exposure.mode', 'turnOnly'),
      is('turn.enabled', false),
      lacksMember('master.secretConfig', 'SERVICE_WEBRTC_ICE_SERVERS'),
      lacksMember('master.config', 'TURN_IP'),
    ],
    path: 'turn.enabled',
    must: 'true, or master.secretConfig.SERVICE_WEBRTC_ICE_SERVERS set: with mediaNodes.exposure.mode turnOnly clients need a TURN server',
  },
  {
    when: [is('mediaNodes.exposure.mode', 'turnOnly'), is('turn.enabled', true), isEmptyList('turn.allowedPeers')],
    path: 'turn.allowedPeers',
    must: 'the range of the pods, such as [10.244.0.0-10.244.255.255]: with mediaNodes.exposure.mode turnOnly the relay connects to pods',
  },
  {
    when: [
      isSet('mediaNodes.announcedAddress.value'),
      is('mediaNodes.exposure.mode', 'hostPort', 'hostNetwork', 'turnOnly'),
      is('mediaNodes.scaling.mode', ...ELASTIC),
    ],
    path: 'mediaNodes.announcedAddress.value',
    must: 'empty with several media nodes: each needs an address of its own (announcedAddress.sources)',
  },
  {
    when: [
      isSet('mediaNodes.announcedAddress.value'),
      is('mediaNodes.exposure.mode', 'hostPort', 'hostNetwork', 'turnOnly'),
      isMoreThan('mediaNodes.replicas', 1),
    ],
    path: 'mediaNodes.announcedAddress.value',
    must: 'empty with mediaNodes.replicas above 1: each media node needs an address of its own (announcedAddress.sources)',
  },
  {
    when: [
      isSet('mediaNodes.announcedAddress.value'),
      is('mediaNodes.exposure.mode', 'nodePort'),
      is('mediaNodes.exposure.nodePort.externalTrafficPolicy', 'Local'),
      isMoreThan('mediaNodes.replicas', 1),
    ],
    path: 'mediaNodes.exposure.nodePort.externalTrafficPolicy',
    must: 'Cluster with one announcedAddress.value for several media nodes: with Local a machine reaches only its own pods',
  },
  {
    when: [is('mediaNodes.scaling.mode', 'keda'), isEmpty('mediaNodes.scaling.keda.serverAddress')],
    path: 'mediaNodes.scaling.keda.serverAddress',
    must: 'the URL of Prometheus, because mediaNodes.scaling.mode is keda',
  },
  {
    when: [is('recording.enabled', true), is('mediaNodes.image.variant', 'media')],
    path: 'mediaNodes.image.variant',
    must: 'full or empty with recording.enabled: the image media has no recording programs',
  },
  {
    when: [is('recording.enabled', true), isMoreThan('master.replicas', 1), ...isOwnVolume('recording.volume')],
    path: 'recording.volume.accessMode',
    must: 'ReadWriteMany, or recording.volume.existingClaim set, or master.replicas 1: all masters use the folder of recordings',
  },
  {
    when: [is('callRecords.enabled', true), isMoreThan('master.replicas', 1), ...isOwnVolume('callRecords.volume')],
    path: 'callRecords.volume.accessMode',
    must: 'ReadWriteMany, or callRecords.volume.existingClaim set, or master.replicas 1: the masters write in turn',
  },
  {
    when: [is('recording.enabled', true), is('recording.scratch.type', 'shared'), ...isOwnVolume('recording.volume')],
    path: 'recording.scratch.type',
    must: 'ephemeral or emptyDir with recording.volume.accessMode ReadWriteOnce: media nodes on other machines cannot share the volume',
  },
  {
    when: [is('recording.enabled', true), is('recording.storage', 's3'), isEmpty('recording.s3.bucket')],
    path: 'recording.s3.bucket',
    must: 'the bucket of the recordings, because recording.storage is s3',
  },
  {
    when: [isSet('recording.s3.accessKey'), isEmpty('recording.s3.secretKey')],
    path: 'recording.s3.secretKey',
    must: 'set with recording.s3.accessKey',
  },
  {
    when: [
      is('nats.enabled', false),
      isEmpty('externalNats.existingSecret'),
      { anyOf: [isEmpty('externalNats.masterUrl'), isEmpty('externalNats.nodeUrl')] },
    ],
    path: 'externalNats.existingSecret',
    must: 'a Secret, or externalNats.masterUrl and nodeUrl set, because nats.enabled is false',
  },
  {
    when: [
      is('nats.enabled', true),
      {
        anyOf: [isSet('externalNats.existingSecret'), isSet('externalNats.masterUrl'), isSet('externalNats.nodeUrl')],
      },
    ],
    path: 'nats.enabled',
    must: 'false with externalNats',
  },
  {
    when: [is('postgres.enabled', false), isEmpty('externalPostgres.existingSecret'), isEmpty('externalPostgres.url')],
    path: 'externalPostgres.existingSecret',
    must: 'a Secret, or externalPostgres.url set, because postgres.enabled is false',
  },
  {
    when: [
      is('postgres.enabled', true),
      { anyOf: [isSet('externalPostgres.existingSecret'), isSet('externalPostgres.url')] },
    ],
    path: 'postgres.enabled',
    must: 'false with externalPostgres',
  },
  {
    when: [is('turn.enabled', true), isEmpty('turn.host')],
    path: 'turn.host',
    must: 'the public name of the TURN server, because turn.enabled is true',
  },
  {
    when: [is('turn.enabled', true), is('turn.tls.enabled', true), isEmpty('turn.tls.existingSecret')],
    path: 'turn.tls.existingSecret',
    must: 'a Secret with the certificate of turn.host, or turn.tls.enabled false',
  },
  {
    when: [is('turn.enabled', true), is('turn.tls.enabled', false), is('turn.udp', false)],
    path: 'turn.udp',
    must: 'true without turn.tls.enabled: the TURN server would have no port',
  },
  {
    when: [is('turn.enabled', true), hasMember('master.secretConfig', 'SERVICE_WEBRTC_ICE_SERVERS')],
    path: 'turn.enabled',
    must: 'false with master.secretConfig.SERVICE_WEBRTC_ICE_SERVERS: the chart sets this property to its TURN server',
  },
  {
    when: [is('ingress.enabled', true), isEmpty('ingress.host')],
    path: 'ingress.host',
    must: 'the host name of the service, because ingress.enabled is true',
  },
  {
    when: [
      is('ingress.enabled', true),
      is('ingress.controller', 'alb'),
      is('networkPolicy.enabled', true),
      isEmptyList('networkPolicy.opsFrom'),
      isEmptyList('trustedProxies'),
    ],
    path: 'trustedProxies',
    must: 'the subnets of the load balancer, or networkPolicy.opsFrom set, with ingress.controller alb: network policies would refuse its health checks',
  },
  {
    when: [
      ...HAS_NO_MASTER_EGRESS,
      { anyOf: [is('mediaNodes.scaling.mode', ...ELASTIC), is('mediaNodes.announcedAddress.fromNode', true)] },
    ],
    path: 'networkPolicy.masterEgress',
    must: 'a list with a rule for the Kubernetes API, which masters use with mediaNodes.scaling.mode other than fixed and with announcedAddress.fromNode',
  },
  {
    when: [...HAS_NO_MASTER_EGRESS, is('recording.enabled', true), is('recording.storage', 's3')],
    path: 'networkPolicy.masterEgress',
    must: 'a list with a rule for the object storage, because recording.storage is s3',
  },
  {
    when: [is('gateway.enabled', true), isEmpty('gateway.host')],
    path: 'gateway.host',
    must: 'the host name of the service, because gateway.enabled is true',
  },
  {
    when: [is('gateway.enabled', true), isEmptyList('gateway.parentRefs')],
    path: 'gateway.parentRefs',
    must: 'a list with the name of a Gateway, because gateway.enabled is true',
  },
  {
    when: [is('monitoring.alerts', true), is('monitoring.kind', 'none')],
    path: 'monitoring.kind',
    must: 'PodMonitor or ServiceMonitor with monitoring.alerts: the alerts read metrics with the label cluster of these monitors',
  },
]

/** As JSON schema: a rejected combination must have the text of `must` as its value, which it never has. */
export const schemaOfRules = () =>
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  RULES.map(({ when, path, must }) => ({ if: { allOf: when }, then: at(path, { const: must }) }))
