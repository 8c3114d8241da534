// Conditions between two renderings of the chart.
import { goldenCases, render } from './goldens.mjs'
import { componentOf, documentsOf, podsOf } from './documents.mjs'

/** The checksums that make Kubernetes replace a pod when they change. */
const checksumsOf = ({ metadata: { annotations = {} } }) =>
  JSON.stringify(Object.entries(annotations).filter(([name]) => name.startsWith('checksum/')))

/** The checksum of secrets by component, with these values set. */
async function checksums(helm, ...options) {
  const { values } = goldenCases().find(({ name }) => name === 'gitops')
  const documents = documentsOf(await render(helm, values, options))
  return new Map(podsOf(documents).map((pod) => [componentOf(pod), checksumsOf(pod)]))
}

/** Pods start again exactly when a Secret that they use changes. */
const SECRETS = [
  { set: 'apiSecret.value=another', restarts: ['master', 'playground'] },
  { set: 'nats.auth.nodePassword=another', restarts: ['media-node', 'nats'] },
  { set: 'nats.auth.masterPassword=another', restarts: ['master', 'nats'] },
  // The servers get the configuration of a cluster.
  { set: 'nats.replicas=3', restarts: ['nats'] },
  { set: 'turn.secret.value=another', restarts: ['master', 'turn'] },
  { set: 'recording.s3.secretKey=another', restarts: ['master'] },
  { set: 'mediaNodes.replicas=2', restarts: [] },
]

async function secretProblems(helm) {
  const before = await checksums(helm)
  const problems = []
  for (const { set, restarts } of SECRETS) {
    const after = await checksums(helm, '--set', set)
    const changed = [...after.keys()].filter((component) => after.get(component) !== before.get(component))
    if (changed.toSorted().join() !== restarts.toSorted().join())
      problems.push(`${set} restarts [${changed.join()}], expected [${restarts.join()}]`)
  }
  return problems
}

/** The passwords of a rendering agree with its checksum, although they are generated. */
async function generationProblems(helm) {
  const { values } = goldenCases().find(({ name }) => name === 'zero-values')
  const secrets = async () =>
    documentsOf(await render(helm, values)).flatMap(({ kind, data }) => (kind === 'Secret' ? Object.values(data) : []))
  const [one, other] = [await secrets(), await secrets()]
  const texts = one.map((value) => Buffer.from(value, 'base64').toString())
  return [
    ...(one.some((value) => other.includes(value)) ? ['a generated secret is the same in two renderings'] : []),
    ...texts.filter((text) => !/^[a-z][A-Za-z0-9]{31}$/.test(text)).map(() => 'a generated secret is not as expected'),
    ...(new Set(texts).size === texts.length ? [] : ['two generated secrets are the same']),
  ]
}

const CLAIMED = 'master.replicas=1,recording.enabled=true,recording.volume.existingClaim=own'
const RECORDS = 'callRecords.enabled=true,callRecords.volume.existingClaim=own'
/** The only master gives its volume of one machine back before the next one starts. */
const STRATEGIES = [
  { set: CLAIMED, type: 'Recreate' },
  { set: `${CLAIMED},recording.volume.accessMode=ReadWriteMany`, type: 'RollingUpdate' },
  { set: `${CLAIMED},recording.volume.accessMode=ReadWriteMany,${RECORDS}`, type: 'Recreate' },
  { set: `${CLAIMED},master.replicas=2`, type: 'RollingUpdate' },
]

async function strategyProblems(helm) {
  const { values } = goldenCases().find(({ name }) => name === 'zero-values')
  const problems = []
  for (const { set, type } of STRATEGIES) {
    const documents = documentsOf(await render(helm, values, ['--set', set]))
    const { spec } = documents.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-master'))
    if (spec.strategy.type !== type) problems.push(`${set} gives ${spec.strategy.type}, expected ${type}`)
  }
  return problems
}

export const relationProblems = async (helm) => [
  ...(await secretProblems(helm)),
  ...(await generationProblems(helm)),
  ...(await strategyProblems(helm)),
]
