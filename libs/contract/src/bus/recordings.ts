import { z } from 'zod'
import { Id } from '../ids.js'
import { TypeOfVideo } from '../rest/connection.js'
import { NativeLayout } from '../rest/recording.js'

/** Of a session's recording: the session's id, the second and later ones with `~<n>`. Becomes a folder's name. */
export const RecordingId = z
  .string()
  .regex(/^[A-Za-z0-9_~-]+$/, 'may hold only letters, digits, "-", "_" and "~"')
  .max(220)

/** A recording is made in parts: a new one begins each time the session's media was lost. */
export const RecordingPartRef = z.object({ recordingId: RecordingId, part: z.number().int().positive() })
export type RecordingPartRef = z.infer<typeof RecordingPartRef>

/** A picture and a sound, composed; without video the sound alone. */
const Composition = z.object({
  kind: z.literal('COMPOSED'),
  layout: NativeLayout,
  /** Pixels. */
  width: z.number().int().min(2),
  height: z.number().int().min(2),
  frameRate: z.number().int().min(1),
})
/** A web page in a browser, which joins as a hidden participant. */
const PageComposition = z.object({
  kind: z.literal('CUSTOM'),
  page: z.object({
    url: z.string(),
    /** Joins the session, hidden, once: what the client library is given. */
    token: z.string(),
    /** Lets the browser fetch the layout's files, where masters serve them. */
    cookie: z.object({ name: z.string(), value: z.string(), path: z.string() }).optional(),
  }),
  width: z.number().int().min(2),
  height: z.number().int().min(2),
  frameRate: z.number().int().min(1),
  /** Bytes of shared memory that the browser may count on. */
  shmSize: z.number().int(),
})
/** One file a stream, as it was sent. */
const Individual = z.object({ kind: z.literal('INDIVIDUAL'), ignoreFailedStreams: z.boolean() })

/**
 * How the files get to where masters serve them: moved when the node sees the masters' disk, else sent.
 *
 * `HEAD <url>/<recordingId>/<part>/<file>` answers 200 with `Upload-Offset`, the bytes that are there already (0 when
 * none, all when the file is complete). `PUT` to the same address sends from there on, in pieces of any size, with
 * `Content-Range: bytes <from>-<to>/<size>` (a file of no bytes: no body and `bytes *\/0`) and is answered 204 with the
 * new `Upload-Offset`; 409 with `Upload-Offset` says that it began elsewhere. A file is there only when `Upload-Offset`
 * is its size. 404 with `Recording-Gone`: nobody wants the files any more; any other 404 is somebody else's, and the
 * files are kept. Requests last 30 s at most; what arrived of one that broke off is kept.
 */
export const RecordingDelivery = z.object({
  /** The part's own folder at the masters, which is there: its files go right into it. */
  folder: z.string(),
  /** A name in `folder`, and what must be in it for the node to see the same disk. */
  proof: z.object({ file: z.string(), content: z.string() }),
  url: z.string(),
  /** `Authorization: Bearer <token>`; good for this part's files alone. */
  token: z.string(),
})
export type RecordingDelivery = z.infer<typeof RecordingDelivery>
/** By this a 404 of a master is told from one of whatever stands between it and the node. */
export const RECORDING_GONE_HEADER = 'recording-gone'

/** What a node is asked to record. Who is in the room and what they publish it sees itself. */
export const RecordingJob = RecordingPartRef.extend({
  sessionId: z.string(),
  roomId: Id,
  epoch: z.number().int(),
  hasAudio: z.boolean(),
  hasVideo: z.boolean(),
  output: z.discriminatedUnion('kind', [Composition, PageComposition, Individual]),
  delivery: RecordingDelivery,
})
export type RecordingJob = z.infer<typeof RecordingJob>

/** A file of a finished part; INDIVIDUAL ones tell whose it is. Times in UTC ms. */
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

/** A job as a node lists it. */
export const RunningJob = RecordingPartRef.extend({
  /** `delivering`: nothing is recorded any more, the files are on their way. */
  state: z.enum(['starting', 'recording', 'delivering']),
})
export type RunningJob = z.infer<typeof RunningJob>

/** Places for jobs on a node, by kind. */
export const Slots = z.object({ used: z.number().int().nonnegative(), total: z.number().int().nonnegative() })

/** A description of files that is longer, as JSON, is delivered as a file of the part: the bus takes no large message. */
export const MOST_DESCRIPTION_BYTES = 262_144
/** The name of that file. */
export const DESCRIPTION_FILE = 'files.json'

/** The end of a part, once its files are where masters serve them: `files` is empty when nothing could be saved. */
export const RecordingEnded = RecordingPartRef.extend({
  files: z.array(RecordedFile),
  /** Name of a delivered file with what should stand in `files`, which is empty then. */
  description: z.string().optional(),
  /** Why it ended otherwise than by being stopped; a sentence for logs and events. */
  failure: z.string().optional(),
})
export type RecordingEnded = z.infer<typeof RecordingEnded>
