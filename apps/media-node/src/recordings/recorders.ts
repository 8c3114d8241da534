import type { RecordingJob } from '@session-service/contract'
import { createComposedRecorder } from './composed/composed-recorder.js'
import { createCustomRecorder } from './custom/custom-recorder.js'
import { createDeferredRecorder } from './deferred/deferred-recorder.js'
import { createIndividualRecorder } from './individual/individual-recorder.js'
import { isDeferred } from './recorder/deferred.js'
import type { RecorderFactory } from './recorder/recorder.js'

const RECORDERS: Record<RecordingJob['output']['kind'], RecorderFactory> = {
  COMPOSED: createComposedRecorder,
  CUSTOM: createCustomRecorder,
  INDIVIDUAL: createIndividualRecorder,
}

export const recorderFor = (job: Pick<RecordingJob, 'output'>): RecorderFactory =>
  isDeferred(job) ? createDeferredRecorder : RECORDERS[job.output.kind]
