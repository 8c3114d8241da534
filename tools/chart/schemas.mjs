// JSON schemas for kubeconform from the OpenAPI document of Kubernetes, one file for each kind.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PREFIX = '#/definitions/'

/** Definitions that are text or a number in YAML, though the document calls them text. */
const EITHER = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
}

/** As the API server decodes it: unknown members are errors. */
function strict(definition) {
  const isObject = definition.properties !== undefined && definition.additionalProperties === undefined
  return isObject ? { ...definition, additionalProperties: false } : definition
}

/** The names of all definitions that a definition refers to, directly or not. */
function referredBy(name, definitions) {
  const found = new Set([name])
  for (const each of found)
    for (const [, other] of JSON.stringify(definitions[each]).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g))
      found.add(other)
  return [...found]
}

/** `[{ file, schema }]` for all kinds, the files named as kubeconform looks for them: `deployment-apps-v1.json`. */
export function kubernetesSchemas({ definitions }) {
  const kinds = Object.entries(definitions).flatMap(([name, definition]) =>
    (definition['x-kubernetes-group-version-kind'] ?? []).map((kind) => ({ name, ...kind })),
  )
  return kinds.map(({ name, group, version, kind }) => {
    const own = referredBy(name, definitions)
    const parts = [kind, group.split('.')[0], version].filter((part) => part !== '')
    const schema = {
      $ref: PREFIX + name,
      definitions: Object.fromEntries(own.map((each) => [each, EITHER[each] ?? strict(definitions[each])])),
    }
    return { file: `${parts.join('-').toLowerCase()}.json`, schema }
  })
}

export function writeSchemas(openApi, folder) {
  mkdirSync(folder, { recursive: true })
  for (const { file, schema } of kubernetesSchemas(JSON.parse(readFileSync(openApi, 'utf8'))))
    writeFileSync(join(folder, file), JSON.stringify(schema))
}
