import { z } from 'zod'
import { RecordingStatus } from '../rest/recording.js'

const Search = z.string().max(200).default('')
const Page = z.coerce.number().int().min(1).max(1_000_000).default(1)
const Id = z.string().min(1).max(400)

/** The parameters of each live view, as `GET live/<view>` receives them in its query. */
export const LIVE_VIEWS = {
  overview: z.strictObject({}),
  'media-nodes': z.strictObject({}),
  'media-node': z.strictObject({ id: Id, page: Page }),
  sessions: z.strictObject({
    search: Search,
    sort: z.enum(['newest', 'oldest', 'participants', 'quality']).default('newest'),
    page: Page,
  }),
  session: z.strictObject({ id: Id }),
  recordings: z.strictObject({ search: Search, status: RecordingStatus.optional(), page: Page }),
  events: z.strictObject({ search: Search, name: z.string().max(100).default('') }),
  'dead-letters': z.strictObject({ page: Page }),
  configuration: z.strictObject({}),
} as const
export type LiveViewName = keyof typeof LIVE_VIEWS
export type LiveQuery<V extends LiveViewName = LiveViewName> = z.output<(typeof LIVE_VIEWS)[V]>

/** The query of `GET search`. */
export const SearchQuery = z.strictObject({ text: z.string().trim().min(1).max(200) })
export type SearchQuery = z.output<typeof SearchQuery>
