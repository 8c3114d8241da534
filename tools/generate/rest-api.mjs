// Generates the reference of the REST API as Markdown from the OpenAPI document and rest-api-concepts.md.
import { readFileSync } from 'node:fs'

const CONCEPTS = readFileSync(new URL('rest-api-concepts.md', import.meta.url), 'utf8').trim()

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
/** Schemas whose members are configuration properties: the page links to their own reference. */
const CONFIGURATION = new Set(['ConfigurationView', 'RestartBody'])
/** Answers that many operations share have the same text everywhere; they are listed once, above the operations. */
const SHARED_FROM = 5

const code = (text) => `\`${text}\``
const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const row = (...cells) => `| ${cells.map(cell).join(' | ')} |`
const table = (head, rows) =>
  [row(...head), `|${'---|'.repeat(head.length)}`, ...rows.map((cells) => row(...cells))].join('\n')
const slug = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
const linkTo = (title) => `[${title}](#${slug(title)})`
const paragraphs = (...parts) => parts.filter((part) => part).join('\n\n')

const nameOf = ($ref) => $ref.slice($ref.lastIndexOf('/') + 1)
const isNull = ({ type, const: constant }) => type === 'null' || constant === null

/** The type of a schema in words; a named schema as a link. Null is left out: as input it means absent. */
function typeOf(schema) {
  if (schema.$ref) return linkTo(nameOf(schema.$ref))
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum) return schema.enum.map((value) => code(value)).join(', ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.filter((choice) => !isNull(choice)).map(typeOf))].join(' or ')
  const types = [schema.type ?? 'any'].flat().filter((type) => type !== 'null')
  if (types.includes('array')) return arrayOf(schema)
  if (types.includes('object') && schema.properties)
    return `object (${Object.keys(schema.properties).map(code).join(', ')})`
  return types.join(' or ') + limitsOf(schema)
}

/** Parentheses separate the limit of each item from that of the array. */
function arrayOf({ items = {}, maxItems }) {
  const item = typeOf(items)
  const text = `array of ${item.includes(', at most ') ? `(${item})` : item}`
  return maxItems === undefined ? text : `${text}, at most ${maxItems} items`
}

function limitsOf({ minimum, maximum, maxLength }) {
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  if (minimum !== undefined && minimum > -Number.MAX_SAFE_INTEGER)
    return isBounded ? ` ${minimum} to ${maximum}` : ` ≥ ${minimum}`
  if (isBounded) return ` ≤ ${maximum}`
  return maxLength === undefined ? '' : `, at most ${maxLength}`
}

const defaultOf = (schema) => (schema.default === undefined ? '' : code(JSON.stringify(schema.default)))

function membersOf({ properties = {}, required = [] }, isInput) {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const cells = [code(name), typeOf(schema), schema.description ?? '']
    const isRequired = required.includes(name)
    return isInput
      ? [...cells, isRequired ? '**mandatory**' : defaultOf(schema)]
      : [...cells, isRequired ? '' : 'optional']
  })
  return table(['Member', 'Type', 'Meaning', isInput ? 'Default' : 'Presence'], rows)
}

function schemaSection([name, schema]) {
  const title = `### ${name}`
  if (CONFIGURATION.has(name))
    return paragraphs(
      title,
      'Members are properties of the [configuration](configuration.md), with values of their JSON type.',
    )
  const forms = schema.anyOf ?? [schema]
  const tables = forms.map((form) => membersOf(form, name.endsWith('Body') || name === 'RecordingProperties'))
  return paragraphs(title, schema.description, tables.join('\n\nor\n\n'))
}

const parametersOf = ({ parameters = [] }) =>
  parameters
    .filter((parameter) => parameter.in !== 'header')
    .map((parameter) => [
      code(parameter.name),
      parameter.in,
      typeOf(parameter.schema),
      parameter.description ?? '',
      parameter.required ? '' : defaultOf(parameter.schema) || 'optional',
    ])

const json = (value) => ['```json', JSON.stringify(value, null, 2), '```'].join('\n')
const contentOf = ({ content = {} }) => Object.entries(content)[0] ?? []

function bodyOf({ requestBody }) {
  if (!requestBody) return ''
  const [, { schema, example }] = contentOf(requestBody)
  return paragraphs(`Body: ${typeOf(schema)}.`, example === undefined ? '' : json(example))
}

/** An answer's text without the parts that are listed once for all operations. */
const ownText = (status, text, shared) =>
  text
    .split('; or: ')
    .filter((part) => !shared.get(status)?.has(part))
    .join('; or: ')

function answersOf({ responses }, shared) {
  const rows = Object.entries(responses).flatMap(([status, answer]) => {
    const text = ownText(status, answer.description, shared)
    if (text === '') return []
    const [contentType, { schema } = {}] = contentOf(answer)
    const body = schema?.$ref?.endsWith('/ErrorView') || !schema ? '' : typeOf(schema)
    return [[status, text, contentType === 'application/json' || !contentType ? body : code(contentType)]]
  })
  const [, { example } = {}] = contentOf(responses['200'] ?? {})
  return paragraphs(table(['Status', 'When', 'Body'], rows), example === undefined ? '' : json(example))
}

function operationSection({ method, path, operation }, shared) {
  const parameters = parametersOf(operation)
  return paragraphs(
    `### ${operation.summary}`,
    code(`${method.toUpperCase()} ${path}`),
    operation.description,
    parameters.length > 0 && table(['Parameter', 'In', 'Type', 'Meaning', 'Default'], parameters),
    bodyOf(operation),
    answersOf(operation, shared),
  )
}

const operationsOf = ({ paths }) =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ method, path, operation: item[method] })),
  )

/** The error texts that at least SHARED_FROM operations have: status → texts, each with its number of operations. */
function sharedAnswers(operations) {
  const counts = new Map()
  for (const { operation } of operations)
    for (const [status, { description }] of Object.entries(operation.responses))
      for (const part of Number(status) < 400 ? [] : description.split('; or: ')) {
        const texts = counts.get(status) ?? new Map()
        counts.set(status, texts.set(part, (texts.get(part) ?? 0) + 1))
      }
  const isShared = ([text, count]) => count >= SHARED_FROM && !/no such|module|edition/i.test(text)
  return new Map(
    [...counts]
      .map(([status, texts]) => [status, new Map([...texts].filter(isShared))])
      .filter(([, texts]) => texts.size > 0),
  )
}

const INTRODUCTION = `<!-- Generated by "npm run generate" from the routes and schemas in libs/contract and from tools/generate/rest-api-concepts.md. -->
# REST API

The interface for backends, which implements the contract of an existing product (see the [glossary](architecture.md#glossary)). [\`api/openapi.json\`](api/openapi.json) is the same as an OpenAPI 3.1 document; a master serves it with a page to try it at \`/service/api/docs\`. [decisions/rest-deviations.md](decisions/rest-deviations.md) lists the cases in which answers differ from other servers with this interface.

- **Authentication**: HTTP Basic, user \`SERVICEAPP\`, password \`SERVICE_SECRET\`, or a secret of \`SERVICE_API_SECRETS\` with a role: \`all\`, \`read-only\`, or \`session-prefix\`, which has access only to sessions whose ids start with its prefix ([operations.md](operations.md#secrets-of-the-rest-api)).
- **Bodies** are JSON in UTF-8, at most 1 MiB. A member that is null counts as absent; unknown members are ignored. Times are UTC milliseconds.
- **Errors** have a body of the form ${linkTo('ErrorView')}; \`message\` names each invalid field.
- **Retries**: a 503 means that the operation may not have been done. With the header \`Idempotency-Key\` (1 to 255 visible ASCII characters) a POST is carried out once, however often it is sent within a day; repetitions get the first answer, with \`Idempotent-Replayed: true\`. Answers other than 2xx are not stored. Each secret has its own keys; \`SERVICE_SECRET\` and \`SERVICE_SECRET_PREVIOUS\` have the same ones.
- Every answer has the header \`X-Request-Id\`, which the logs contain too.`

const DEPRECATED_SHAPES = `Each request to one logs a warning that names its replacement. The answers have earlier shapes:

- A session has \`sessionId\` instead of \`id\`, and \`defaultOutputMode\`, \`defaultRecordingLayout\` and \`defaultCustomLayout\` instead of \`defaultRecordingProperties\`; creating one returns \`id\` and \`createdAt\`.
- A connection has \`connectionId\` instead of \`id\`; a subscriber has \`publisher\`, the id of the publishing connection. \`POST /api/sessions/{sessionId}/connection\` accepts IP cameras only.
- A token has \`id\`, \`session\`, \`role\`, \`data\`, \`token\` and \`mediaserverOptions\`.
- A finished recording has the status \`available\` where \`SERVICE_RECORDING_PUBLIC_ACCESS\` is true, else \`stopped\`.`

/** The reference of the REST API. `document`: the OpenAPI document. */
export function restApiPage(document) {
  const operations = operationsOf(document)
  const current = operations.filter(({ operation }) => operation.tags[0] !== 'Deprecated paths')
  const shared = sharedAnswers(current)
  const sections = document.tags
    .map((tag) => ({ ...tag, operations: current.filter(({ operation }) => operation.tags[0] === tag.name) }))
    .filter((section) => section.operations.length > 0)
  const deprecated = operations.filter((each) => !current.includes(each))
  const overview = current.map(({ method, path, operation }) => [
    code(`${method.toUpperCase()} ${path}`),
    linkTo(operation.summary),
  ])
  const page = paragraphs(
    INTRODUCTION,
    CONCEPTS,
    '## Operations',
    table(['Request', 'Operation'], overview),
    '## Answers of all operations',
    'Besides its own answers, an operation can give these; 413 and 415 only with a body, and those about `Idempotency-Key` only for POST.',
    table(
      ['Status', 'When'],
      [...shared]
        .toSorted(([a], [b]) => a - b)
        .flatMap(([status, texts]) => [...texts.keys()].map((text) => [status, text])),
    ),
    ...sections.flatMap((section) => [
      `## ${section.name}`,
      section.description,
      ...section.operations.map((each) => operationSection(each, shared)),
    ]),
    '## Deprecated paths',
    document.tags.find(({ name }) => name === 'Deprecated paths')?.description,
    DEPRECATED_SHAPES,
    table(
      ['Request', 'Description'],
      deprecated.map(({ method, path, operation }) => [code(`${method.toUpperCase()} ${path}`), operation.description]),
    ),
    '## Schemas',
    'Default is the value of an absent member. Members of answers are always present unless they are marked optional.',
    ...Object.entries(document.components.schemas).map(schemaSection),
  )
  return `${page}\n`
}
