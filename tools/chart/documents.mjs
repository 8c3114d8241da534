// Reads rendered YAML: its objects, and the pods that they make.
import { parseYaml } from '@redocly/openapi-core'

export const documentsOf = (yaml) =>
  yaml
    .split(/^---$/m)
    .map((text) => parseYaml(text))
    .filter((document) => document?.kind)

/** The pod templates of a rendering: `[{ name, kind, metadata, spec }]`; `metadata` and `spec` of the pods. */
export const podsOf = (documents) =>
  documents.flatMap(({ kind, metadata, spec, template }) => {
    const pod = { Pod: { metadata, spec }, PodTemplate: template }[kind] ?? spec?.template
    return pod?.spec?.containers ? [{ name: metadata.name, kind, metadata: pod.metadata ?? {}, spec: pod.spec }] : []
  })

export const componentOf = ({ metadata }) => metadata.labels?.['app.kubernetes.io/component']
