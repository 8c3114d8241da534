import { z } from 'zod'
import { parseJson } from './parse-json.js'
import type { PropertyType } from './property.js'

const MAX_PIPELINES = 100
const MAX_PIPELINE = 4_096
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const ELEMENT_PROPERTY = /^[A-Za-z][A-Za-z0-9_-]{0,63}\.[A-Za-z][A-Za-z0-9_-]{0,63}$/

const LENGTH = `must have 1 to ${MAX_PIPELINE} characters`
const PROPERTY = 'must be of the form element.property'
const SYNTAX = '{"kind": "video", "pipeline": "…", "properties": ["element.property"]}'

const Pipeline = z.strictObject(
  {
    kind: z.enum(['audio', 'video'], 'must be audio or video'),
    /** As for gst-launch-1.0: elements from raw media to raw media of the same kind. */
    pipeline: z
      .string(LENGTH)
      .trim()
      .min(1, LENGTH)
      .max(MAX_PIPELINE, LENGTH)
      // eslint-disable-next-line no-control-regex -- matches control characters on purpose
      .regex(/^[^\0-\x1f\x7f]*$/, 'must not contain control characters'),
    properties: z.array(z.string(PROPERTY).regex(ELEMENT_PROPERTY, PROPERTY), 'must be an array').default([]),
  },
  `must be ${SYNTAX}`,
)
const Pipelines = z
  .record(z.string().regex(NAME), Pipeline, {
    error: ({ code }) =>
      code === 'invalid_key'
        ? 'each name must begin with a letter, and have up to 64 letters, digits, "-" and "_"'
        : `must be a JSON object: name → ${SYNTAX}`,
  })
  .refine((pipelines) => Object.keys(pipelines).length <= MAX_PIPELINES, `must have at most ${MAX_PIPELINES} pipelines`)

/** The pipelines that the operator allows for filters, by their names. */
export type FilterPipelines = z.output<typeof Pipelines>

function parsePipelines(value: string, context: z.RefinementCtx): FilterPipelines {
  const { data, error } = Pipelines.safeParse(parseJson(value))
  for (const { code, path, message } of error?.issues ?? []) {
    const [name, ...member] = path.map(String)
    const where = name === undefined || code === 'invalid_key' ? '' : `pipeline ${name}: ${member.join('.')} `
    context.addIssue({ code: 'custom', path, message: `${where}${message}`.replace(':  ', ': ') })
  }
  return data ?? z.NEVER
}

export const filterPipelines: PropertyType<FilterPipelines> = {
  label: `a JSON object: name → \`${SYNTAX}\``,
  schema: z.string().transform(parsePipelines),
  show: (value) => JSON.stringify(value),
  json: { type: 'object' },
}
