import { z } from 'zod'
import { optional, text, withDefault } from '../optional.js'

export const OutputMode = z.enum(['COMPOSED', 'INDIVIDUAL', 'COMPOSED_QUICK_START'])
/** Layouts that a media node composes. The interface description calls all but the first unavailable; here they work. */
export const NativeLayout = z.enum([
  'BEST_FIT',
  'PICTURE_IN_PICTURE',
  'VERTICAL_PRESENTATION',
  'HORIZONTAL_PRESENTATION',
])
export type NativeLayout = z.infer<typeof NativeLayout>
export const RecordingLayout = z.enum([...NativeLayout.options, 'CUSTOM'])
export const RESOLUTION = /^([1-9]\d{2}|1\d{3})x([1-9]\d{2}|1\d{3})$/
const SHM_SIZE_DEFAULT = 536_870_912
const SHM_SIZE_MIN = 134_217_728
const FRAME_RATE_MIN = 1
const FRAME_RATE_MAX = 120

/** Also the name of the file. */
const RecordingName = z
  .string()
  .regex(/^[A-Za-z0-9_~-]*$/, 'may hold only letters, digits, "-", "_" and "~"')
  .max(200)
/** A path inside the folder of layouts, or the URL of a page. */
export const CustomLayout = text(1024).regex(
  /^(?:(?:[\w~-][\w~.-]*(?:\/[\w~-][\w~.-]*)*\/?)?|https?:\/\/[^\s\\]+)$/i,
  'must be a relative path of letters, digits, ".", "-", "_" and "~" below the folder of layouts, or an http(s) address',
)
/** Accepts `{id}` and the plain string that some client SDKs send. */
const RecordingNode = z.union([text(200), z.object({ id: text(200) }).transform(({ id }) => id)])

/** The properties of a recording. In the defaults of a session every invalid value is a 400. */
export const RecordingProperties = z
  .object({
    name: withDefault(RecordingName, '').describe(
      'Name of the recording and of its file; empty or absent takes the id',
    ),
    hasAudio: withDefault(z.boolean(), true).describe('Whether audio is recorded'),
    hasVideo: withDefault(z.boolean(), true).describe('Whether video is recorded'),
    outputMode: withDefault(OutputMode, 'COMPOSED').describe(
      'One composed file, one file per stream, or a composed file that starts quicker',
    ),
    recordingLayout: withDefault(RecordingLayout, 'BEST_FIT').describe(
      'Arrangement of the videos; only with composed video',
    ),
    customLayout: withDefault(CustomLayout, '').describe(
      'Folder of the page below the layouts, or its address; only with CUSTOM',
    ),
    resolution: withDefault(
      z.string().regex(RESOLUTION, 'must be <width>x<height>, each from 100 to 1999'),
      '1280x720',
    ).describe('`<width>x<height>` in pixels, each 100 to 1999; only with composed video'),
    frameRate: withDefault(z.number().int().min(FRAME_RATE_MIN).max(FRAME_RATE_MAX), 25).describe(
      'Frames per second, 1 to 120; only with composed video',
    ),
    shmSize: withDefault(z.number().int().min(SHM_SIZE_MIN), SHM_SIZE_DEFAULT).describe(
      'Shared memory of the recorder in bytes, at least 134217728; only with composed video',
    ),
    ignoreFailedStreams: withDefault(z.boolean(), false).describe(
      'Whether INDIVIDUAL starts although a stream sends nothing',
    ),
    mediaNode: optional(RecordingNode).describe('Media node that records composed video; paid editions'),
  })
  .refine(({ hasAudio, hasVideo }) => hasAudio || hasVideo, {
    path: ['hasVideo'],
    message: 'hasAudio and hasVideo cannot both be false',
  })
export type RecordingProperties = z.output<typeof RecordingProperties>

/**
 * The body of POST recordings/start without `session`. Absent members take the session's defaults. It validates only
 * types and formats, because a number outside its range has another status, see `rangeFaults`.
 */
export const StartRecordingOptions = z.object({
  name: optional(RecordingName).describe('Name of the recording and of its file; empty or absent takes the id'),
  hasAudio: optional(z.boolean()).describe('Whether audio is recorded'),
  hasVideo: optional(z.boolean()).describe('Whether video is recorded'),
  outputMode: optional(OutputMode).describe(
    'One composed file, one file per stream, or a composed file that starts quicker',
  ),
  recordingLayout: optional(RecordingLayout).describe('Arrangement of the videos; only with composed video'),
  customLayout: optional(CustomLayout).describe(
    'Folder of the page below the layouts, or its address; only with CUSTOM',
  ),
  resolution: optional(text(32).regex(/^\d+x\d+$/, 'must be <width>x<height>')).describe(
    '`<width>x<height>` in pixels, each 100 to 1999; only with composed video',
  ),
  frameRate: optional(z.number().int()).describe('Frames per second, 1 to 120; only with composed video'),
  shmSize: optional(z.number().int()).describe(
    'Shared memory of the recorder in bytes, at least 134217728; only with composed video',
  ),
  ignoreFailedStreams: optional(z.boolean()).describe('Whether INDIVIDUAL starts although a stream sends nothing'),
  mediaNode: optional(RecordingNode).describe('Media node that records composed video; paid editions'),
})
export type StartRecordingOptions = z.output<typeof StartRecordingOptions>

/** The values outside their range in well-formed options, each with the name of its field. */
export function rangeFaults(
  options: Pick<StartRecordingOptions, 'resolution' | 'frameRate' | 'shmSize'> & {
    hasAudio: boolean
    hasVideo: boolean
  },
): string[] {
  const { hasAudio, hasVideo, resolution, frameRate, shmSize } = options
  const faults: string[] = []
  if (!hasAudio && !hasVideo) faults.push('hasVideo: hasAudio and hasVideo cannot both be false')
  if (resolution !== undefined && !RESOLUTION.test(resolution)) {
    faults.push('resolution: width and height must be from 100 to 1999')
  }
  if (frameRate !== undefined && (frameRate < FRAME_RATE_MIN || frameRate > FRAME_RATE_MAX)) {
    faults.push(`frameRate: must be from ${FRAME_RATE_MIN} to ${FRAME_RATE_MAX}`)
  }
  if (shmSize !== undefined && shmSize < SHM_SIZE_MIN) faults.push(`shmSize: must be at least ${SHM_SIZE_MIN}`)
  return faults
}

/** The properties in a session's answer: only the members that apply to the output mode; `mediaNode` is an id. */
export const RecordingPropertiesView = z.object({
  name: z.string().describe('Name of the recording and of its file; empty or absent takes the id'),
  hasAudio: z.boolean().describe('Whether audio is recorded'),
  hasVideo: z.boolean().describe('Whether video is recorded'),
  outputMode: OutputMode.describe('One composed file, one file per stream, or a composed file that starts quicker'),
  recordingLayout: RecordingLayout.optional().describe('Arrangement of the videos; only with composed video'),
  customLayout: z
    .string()
    .optional()
    .describe('Folder of the page below the layouts, or its address; only with CUSTOM'),
  resolution: z
    .string()
    .optional()
    .describe('`<width>x<height>` in pixels, each 100 to 1999; only with composed video'),
  frameRate: z.number().optional().describe('Frames per second, 1 to 120; only with composed video'),
  shmSize: z
    .number()
    .optional()
    .describe('Shared memory of the recorder in bytes, at least 134217728; only with composed video'),
  ignoreFailedStreams: z.boolean().optional().describe('Whether INDIVIDUAL starts although a stream sends nothing'),
  mediaNode: z.string().optional().describe('Media node that records composed video; paid editions'),
})
export type RecordingPropertiesView = z.infer<typeof RecordingPropertiesView>

export const RecordingStatus = z.enum(['starting', 'started', 'stopped', 'ready', 'failed'])
export type RecordingStatus = z.infer<typeof RecordingStatus>

/** `size` in bytes, `duration` in seconds and `url` are final when `ready`. Times in UTC ms. */
export const RecordingView = z.object({
  id: z.string().describe('Identifier, made of that of the session'),
  object: z.literal('recording').describe('Always `recording`'),
  ...RecordingPropertiesView.shape,
  sessionId: z.string().describe('The recorded session'),
  createdAt: z.number().describe('Start of the recording, UTC ms'),
  size: z.number().describe('Bytes of the file, final once `ready`'),
  duration: z.number().describe('Seconds, final once `ready`'),
  url: z.string().nullable().describe('Address of the file, not null once `ready`'),
  status: RecordingStatus.describe('State of the recording'),
})
export type RecordingView = z.infer<typeof RecordingView>

export const RecordingListView = z.object({
  count: z.number().describe('Number of all recordings'),
  items: z.array(RecordingView).describe('The recordings'),
})
export type RecordingListView = z.infer<typeof RecordingListView>
