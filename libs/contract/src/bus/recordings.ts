import { z } from 'zod'
import { Id } from '../ids.js'
import { TypeOfVideo } from '../participants/members.js'
import { NativeLayout } from '../rest/recording.js'

/** The id of a recording, also its folder name: the session's id, with the suffix `~<n>` from the second recording on. */
export const RecordingId = z
  .string()
  .regex(/^[A-Za-z0-9_~-]+$/, 'may hold only letters, digits, "-", "_" and "~"')
  .max(220)

/** The number of a recording's part. A new part starts after each loss of the session's media. */
export const RecordingPartRef = z.object({ recordingId: RecordingId, part: z.number().int().positive() })
export type RecordingPartRef = z.infer<typeof RecordingPartRef>

/** A composed video with audio, or only composed audio. */
const Composition = z.object({
  kind: z.literal('COMPOSED'),
  layout: NativeLayout,
  /** Pixels. */
  width: z.number().int().min(2),
  height: z.number().int().min(2),
  frameRate: z.number().int().min(1),
  /** Records the streams as they are sent, and composes them after the end. */
  deferred: z.boolean().optional(),
})
/** A web page in a browser that joins as a hidden participant. */
const PageComposition = z.object({
  kind: z.literal('CUSTOM'),
  page: z.object({
    url: z.string(),
    /** The token for the client library, valid for one hidden join. */
    token: z.string(),
    /** Authorizes the browser to fetch the layout's files from a master. */
    cookie: z.object({ name: z.string(), value: z.string(), path: z.string() }).optional(),
  }),
  width: z.number().int().min(2),
  height: z.number().int().min(2),
  frameRate: z.number().int().min(1),
  /** The shared memory that the browser requires, bytes. */
  shmSize: z.number().int(),
})
/** One file for each stream, without transcoding. */
const Individual = z.object({ kind: z.literal('INDIVIDUAL'), ignoreFailedStreams: z.boolean() })

/**
 * The delivery of files to the masters: moved when the node has access to the masters' disk, else uploaded.
 *
 * `HEAD <url>/<recordingId>/<part>/<file>` answers 200 with `Upload-Offset`, the number of stored bytes (0 without a file,
 * the size of a complete file). `PUT` to the same URL continues from there in chunks of any size, with
 * `Content-Range: bytes <from>-<to>/<size>` (an empty file: no body and `bytes *\/0`), and answers 204 with the new
 * `Upload-Offset`; 409 with `Upload-Offset` reports a wrong start. A file is complete only when `Upload-Offset` equals its
 * size. 404 with `Recording-Gone` means that the recording was deleted; any other 404 comes from a proxy, and the node
 * keeps the files. Requests take at most 30 s; the server keeps the bytes of an interrupted one.
 */
export const RecordingDelivery = z.object({
  /** The existing folder of the part at the masters, which receives the files. */
  folder: z.string(),
  /** The name and content of a file in `folder`. The node sees the same disk if it finds them. */
  proof: z.object({ file: z.string(), content: z.string() }),
  url: z.string(),
  /** Sent as `Authorization: Bearer <token>`; valid only for the files of this part. */
  token: z.string(),
})
export type RecordingDelivery = z.infer<typeof RecordingDelivery>
/** The header that distinguishes a 404 of a master from one of a proxy. */
export const RECORDING_GONE_HEADER = 'recording-gone'

/** The recording job for a node. The node knows the participants and streams of the room itself. */
export const RecordingJob = RecordingPartRef.extend({
  sessionId: z.string(),
  roomId: Id,
  epoch: z.number().int(),
  /** Whether an earlier part was recorded: the start waits for no media, and a stream that fails does not end the part. */
  continues: z.boolean().optional(),
  hasAudio: z.boolean(),
  hasVideo: z.boolean(),
  output: z.discriminatedUnion('kind', [Composition, PageComposition, Individual]),
  delivery: RecordingDelivery,
})
export type RecordingJob = z.infer<typeof RecordingJob>

/** A file of a finished part; INDIVIDUAL ones name their participant. Times in UTC ms. */
export const RecordedFile = z.object({
  name: z.string().regex(/^[\w.~-]+$/),
  /** Bytes. */
  size: z.number().int().nonnegative(),
  hasAudio: z.boolean(),
  hasVideo: z.boolean(),
  startedAt: z.number(),
  endedAt: z.number(),
  streamId: z.string().optional(),
  connectionId: z.string().optional(),
  clientData: z.string().optional(),
  serverData: z.string().optional(),
  typeOfVideo: TypeOfVideo.optional(),
})
export type RecordedFile = z.infer<typeof RecordedFile>

/** A job in the list of a node. */
export const RunningJob = RecordingPartRef.extend({
  /** `composing` and `delivering`: the recording has stopped, and the node makes or delivers its files. */
  state: z.enum(['starting', 'recording', 'composing', 'delivering']),
})
export type RunningJob = z.infer<typeof RunningJob>

/** The slots for jobs on a node, by kind. */
export const Slots = z.object({ used: z.number().int().nonnegative(), total: z.number().int().nonnegative() })

/** A longer JSON description of the files is delivered as a file of the part, because bus messages are limited. */
export const MOST_DESCRIPTION_BYTES = 262_144
/** The name of the description file. */
export const DESCRIPTION_FILE = 'files.json'

/** The end of a part, after the delivery of its files. `files` is empty when no file could be saved. */
export const RecordingEnded = RecordingPartRef.extend({
  files: z.array(RecordedFile),
  /** The name of a delivered file with the content of `files`, which is empty then. */
  description: z.string().optional(),
  /** The reason of an end without a stop command; a sentence for logs and events. */
  failure: z.string().optional(),
})
export type RecordingEnded = z.infer<typeof RecordingEnded>
