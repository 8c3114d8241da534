import { z } from 'zod'
import { Id } from '../ids.js'
import { text } from '../optional.js'

const Options = z.record(z.string(), z.unknown())

export const FILTER_TYPES = [
  'ImageOverlayFilter',
  'ChromaFilter',
  'BlurFilter',
  'AudioGainFilter',
  'NoiseSuppressionFilter',
  'GStreamerFilter',
] as const
export type FilterTypeName = (typeof FILTER_TYPES)[number]

/** A filter as clients request it. `checkFilter` validates its options, which depend on the type. */
export const Filter = z.object({
  type: text(64),
  options: Options.default({}),
})
export type Filter = z.output<typeof Filter>

/** A filter as a node applies it: valid, with all options. */
export const AppliedFilter = z.object({
  /** New for each time the filter is applied: commands and reports of an earlier time have no effect. */
  filterId: Id,
  type: z.string(),
  options: Options,
})
export type AppliedFilter = z.infer<typeof AppliedFilter>

/** The filter of a stream; empty without one. Images are replaced by their description. */
export const FilterView = z.object({
  type: z.string().optional().describe('Type of the filter'),
  options: Options.optional().describe('Options with which it was applied; images are replaced by their type and size'),
  lastExecMethod: z
    .object({
      method: z.string().optional().describe('Name of the method'),
      params: Options.optional().describe('Its parameters'),
    })
    .optional()
    .describe('The method that was executed last; empty before the first one'),
})
export type FilterView = z.infer<typeof FilterView>

/** The maximum length of the data of a filter event, characters. */
export const FILTER_EVENT_DATA_MAX_LENGTH = 4_096

/** An event of a filter, from the program that applies it. */
export const FilterEvent = z.object({
  streamId: Id,
  /** The publisher of the stream. */
  connectionId: Id,
  filterType: z.string(),
  eventType: z.string().max(64),
  /** JSON text. */
  data: z.string().max(FILTER_EVENT_DATA_MAX_LENGTH),
})
export type FilterEvent = z.infer<typeof FilterEvent>
