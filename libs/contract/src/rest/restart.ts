import { z } from 'zod'

const Member = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())], {
  error: 'must be a string, a number, a boolean or an array of strings',
})

/** Properties by name; null means the same as absent. The table of properties defines which may change. */
export const RestartBody = z
  .record(z.string(), Member.nullable())
  .transform((members) =>
    Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))),
  )
export type RestartBody = z.infer<typeof RestartBody>

/** A sentence for each accepted property whose change has no effect, or an unexpected one. */
export const RestartView = z.object({
  warnings: z
    .array(z.string())
    .describe('Properties of the new configuration that have no effect, each with the reason'),
})
export type RestartView = z.infer<typeof RestartView>

export const OverrideValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])
/** A property that a restart has changed; `***` replaces a secret. */
export const OverrideView = z.object({
  object: z.literal('override').describe('Always `override`'),
  name: z.string().describe('Name of the property'),
  value: OverrideValue.describe('The value in force; `***` for a secret'),
})
export const OverrideListView = z.object({
  numberOfElements: z.number().describe('Number of overrides'),
  content: z.array(OverrideView).describe('The overrides, by name'),
})
export type OverrideListView = z.infer<typeof OverrideListView>
