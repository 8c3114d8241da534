import { createHash } from 'node:crypto'
import type { NodeLaunch } from '../../driver/node-driver.js'
import type { Pod, PodTemplate } from './kubernetes-objects.js'

export const NODE_ID_LABEL = 'session-service/node-id'
export const TEMPLATE_HASH = 'session-service/template-hash'

/** The container of the media node, unless the template names none so; then it is the first one. */
const CONTAINER = 'media-node'
/** Length of a host name, which Kubernetes derives from the name of the pod. */
const MAX_NAME = 63

/**
 * The name of the pod of a media node: two masters that launch the same node make one pod. The ids of nodes differ in
 * more than their case with high probability; otherwise the pod is refused by its label.
 */
export function podName(template: string, nodeId: string): string {
  const tail = nodeId
    .replace(/^media_/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const head = template.slice(0, Math.max(1, MAX_NAME - 1 - tail.length)).replace(/[^a-z0-9]+$/, '')
  return `${head}-${tail}`.slice(0, MAX_NAME).replace(/-+$/, '')
}

/**
 * Identifies the content of a template: the annotation of the same name, else a digest of all of the object, so that
 * masters of different versions agree on it.
 */
export const templateHash = ({ metadata, template }: PodTemplate): string =>
  metadata.annotations[TEMPLATE_HASH] ??
  createHash('sha256')
    .update(JSON.stringify(canonical(template)))
    .digest('hex')
    .slice(0, 16)

/** With sorted members and without null ones. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return Object.fromEntries(
    members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, member]) => [name, canonical(member)]),
  )
}

/** The pod of a media node, made of the template. Pure. */
export function podManifest(podTemplate: PodTemplate, { id, environmentId }: NodeLaunch): object {
  const { metadata, template } = podTemplate
  const name = podName(metadata.name, id)
  const { containers, ...spec } = template.spec
  const own = Math.max(
    0,
    containers.findIndex((container) => container.name === CONTAINER),
  )
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { ...template.metadata?.labels, [NODE_ID_LABEL]: id },
      annotations: { ...template.metadata?.annotations, [TEMPLATE_HASH]: templateHash(podTemplate) },
      // The pods end with the template, and so with the release. `blockOwnerDeletion` needs a permission more.
      ownerReferences: [
        { apiVersion: 'v1', kind: 'PodTemplate', name: metadata.name, uid: metadata.uid, controller: true },
      ],
    },
    spec: {
      ...spec,
      // A crashed node restarts with its recordings; a drained one exits with 0 and must not.
      restartPolicy: 'OnFailure',
      containers: containers.map((container, index) =>
        index === own
          ? {
              ...container,
              env: withVariables(container.env ?? [], {
                MEDIA_NODE_ID: id,
                MEDIA_NODE_ENVIRONMENT_ID: environmentId || name,
              }),
            }
          : container,
      ),
    },
  }
}

/** First, so that later variables of the template can refer to them. */
const withVariables = (env: readonly { name: string }[], values: Readonly<Record<string, string>>) => [
  ...Object.entries(values).map(([name, value]) => ({ name, value })),
  ...env.filter(({ name }) => !(name in values)),
]

/** Whether a master made this pod from the template of this name. */
export const isMadeFrom = ({ metadata }: Pod, template: string): boolean =>
  metadata.labels[NODE_ID_LABEL] !== undefined &&
  metadata.ownerReferences.some(({ kind, name }) => kind === 'PodTemplate' && name === template)

/** The media node of a pod: by its label, or in a Deployment by its name. */
export const nodeIdOf = ({ metadata }: Pod): string => metadata.labels[NODE_ID_LABEL] ?? metadata.name
