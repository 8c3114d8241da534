import { isDeepStrictEqual } from 'node:util'
import type { MediaOptions, NotificationParams, StreamInfo } from '@session-service/contract'

type Change = NotificationParams<'streamPropertyChanged'>
type Property = Exclude<Change['changedProperty'], 'frameRate'>

function filterReason({ filter: before }: MediaOptions, { filter: after }: MediaOptions): Change['reason'] {
  if (after.type === undefined) return 'removeFilter'
  return before.type === after.type ? 'execFilterMethod' : 'applyFilter'
}

const REASONS: Record<Property, (before: MediaOptions, after: MediaOptions) => Change['reason']> = {
  audioActive: () => 'publishAudio',
  videoActive: () => 'publishVideo',
  videoDimensions: (_, { typeOfVideo }) => (typeOfVideo === 'SCREEN' ? 'screenResized' : 'deviceRotated'),
  filter: filterReason,
}
const PROPERTIES = Object.keys(REASONS) as Property[]

/** The changes of the properties of a stream that clients of version 2 know, and the present values of doubtful ones. */
export function propertyChanges(
  { mediaOptions: old }: StreamInfo,
  { streamId, connectionId, mediaOptions: now }: StreamInfo,
  isDoubtful: (property: Property) => boolean,
): Change[] {
  const isSame = (property: Property): boolean => isDeepStrictEqual(old[property] ?? null, now[property] ?? null)
  return PROPERTIES.filter((property) => isDoubtful(property) || !isSame(property)).map((changedProperty) => ({
    streamId,
    connectionId,
    changedProperty,
    newValue: now[changedProperty] ?? null,
    reason: REASONS[changedProperty](old, now),
  }))
}
