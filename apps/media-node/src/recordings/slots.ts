import { COST, type RecordingJob } from '@session-service/contract'
import { CPU_SHARE } from '../media-processor/admission.js'
import { isDeferred } from './recorder/deferred.js'

/** The number of recording slots: the configured one, or by the number of cores. */
export const recordingSlots = (configured: number, cores: number): number =>
  configured > 0 ? configured : Math.max(1, Math.floor((cores * 100 * CPU_SHARE) / COST.recordings))

/** Slots per recording: a browser that decodes and renders, and is grabbed, costs two to three compositions. */
const SLOTS_PER_KIND: Record<RecordingJob['output']['kind'], number> = { INDIVIDUAL: 1, COMPOSED: 1, CUSTOM: 3 }

/** Without decoding and encoding; the composition afterwards uses only idle processor time, and no slot. */
const DEFERRED_SLOTS = COST.deferredRecordings / COST.recordings

export const slotsOf = (job: Pick<RecordingJob, 'output'>): number =>
  isDeferred(job) ? DEFERRED_SLOTS : SLOTS_PER_KIND[job.output.kind]

/** Slots as reported: a started one counts. */
export const wholeSlots = (used: number): number => Math.ceil(Number(used.toFixed(6)))

/** A recording that needs more slots than the node has may run alone, so that small nodes can record it too. */
export const hasSlots = ({ used, total }: { used: number; total: number }, wanted: number): boolean =>
  used + wanted <= total || (used === 0 && total > 0)
