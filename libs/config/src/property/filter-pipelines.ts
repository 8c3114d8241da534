import { z } from 'zod'
import type { PropertyType } from './property.js'

const MAX_PIPELINES = 100
const MAX_PIPELINE = 4_096
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const ELEMENT_PROPERTY = /^[A-Za-z][A-Za-z0-9_-]{0,63}\.[A-Za-z][A-Za-z0-9_-]{0,63}$/

const Pipeline = z.strictObject({
  kind: z.enum(['audio', 'video']),
  /** As for gst-launch-1.0: elements from raw media to raw media of the same kind. */
  pipeline: z
    .string()
    .trim()
    .min(1)
    .max(MAX_PIPELINE)
    // eslint-disable-next-line no-control-regex -- matches control characters on purpose
    .regex(/^[^\0-\x1f\x7f]*$/, 'must not contain control characters'),
  properties: z.array(z.string().regex(ELEMENT_PROPERTY, 'must be of the form element.property')).default([]),
})
const Pipelines = z
  .record(z.string().regex(NAME, 'each name must have up to 64 letters, digits, "-" and "_"'), Pipeline)
  .refine((pipelines) => Object.keys(pipelines).length <= MAX_PIPELINES, `must have at most ${MAX_PIPELINES} pipelines`)

/** The pipelines that the operator allows for filters, by their names. */
export type FilterPipelines = z.output<typeof Pipelines>

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

export const filterPipelines: PropertyType<FilterPipelines> = {
  label: 'a JSON object: name → `{"kind": "video", "pipeline": "…", "properties": ["element.property"]}`',
  schema: z.string().transform(parseJson).pipe(Pipelines),
  show: (value) => JSON.stringify(value),
  json: { type: 'object' },
}
