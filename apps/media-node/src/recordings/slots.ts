import { COST, type RecordingJob } from '@session-service/contract'

/** The rest of the machine is for its sessions: forwarding must never wait for a recording. */
const SHARE = 0.75

/** How many recordings a node takes: as many as it was told to, or as its cores pay for. */
export const recordingSlots = (configured: number, cores: number): number =>
  configured > 0 ? configured : Math.max(1, Math.floor((cores * 100 * SHARE) / COST.recordings))

/** How many a recording takes: a browser decodes, draws and is grabbed, at two to three times the cost of a composition. */
const TAKEN: Record<RecordingJob['output']['kind'], number> = { INDIVIDUAL: 1, COMPOSED: 1, CUSTOM: 3 }

export const slotsOf = ({ output }: Pick<RecordingJob, 'output'>): number => TAKEN[output.kind]

/** One that takes more than there are is made when it is alone: a small node can make one, too. */
export const hasSlots = ({ used, total }: { used: number; total: number }, wanted: number): boolean =>
  used + wanted <= total || (used === 0 && total > 0)
