import { describeImage, type Filter, type FilterView } from '@session-service/contract'

type Members = Record<string, unknown>

/** Replaces images by their description: every participant and every webhook gets the options of filters. */
const withoutImages = (members: Members): Members =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      if (name === 'image' && typeof value === 'string') return [name, describeImage(value)]
      return [name, isMembers(value) ? withoutImages(value) : value]
    }),
  )

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The filter in the media options of its stream. */
export const filterView = ({ type, options }: Filter): FilterView => ({
  type,
  options: withoutImages(options),
  lastExecMethod: {},
})

/** The same after a method. */
export const viewAfter = (view: FilterView, method: string, params: Members): FilterView => ({
  ...view,
  lastExecMethod: { method, params: withoutImages(params) },
})
