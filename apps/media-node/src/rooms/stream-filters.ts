import type { AppliedFilter } from '@session-service/contract'
import type { Stream } from './stream.js'

/** Applies the filters with which streams are published. */
export interface StreamFilters {
  /** Starts in the background: a failure is reported. */
  begin(stream: Stream, filter: AppliedFilter): void
  /** The published tracks were replaced: the filter of the stream, if it has one, continues with them. */
  inputReplaced(stream: Stream): void
}
