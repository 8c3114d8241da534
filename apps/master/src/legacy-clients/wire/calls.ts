import { SIGNALLING_LIMITS } from '@session-service/contract'
import { parseJson } from '@session-service/config'
import { z } from 'zod'
import { MAX_NESTING } from '../../platform/http/parsing/json-depth.js'

/** Some mobile clients send every parameter as text. */
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d{1,9}(\.\d{1,9})?$/)
    .transform(Number),
])
/** An absent member, and `null` for one. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

const MOST_TEXT = 262_144
/** More than ten times what browsers send. */
const MOST_SDP = 65_536
const MOST_LABEL = 512
const id = z.string().min(1).max(512)
const text = z.string().max(MOST_TEXT)
const sdp = z.string().min(1).max(MOST_SDP)
const Nothing = z.object({})

/** JSON as text; some clients send the object itself. */
const jsonObject = z.union([
  z.record(z.string(), z.unknown()),
  z
    .string()
    .max(MOST_TEXT)
    .transform((value, context): Record<string, unknown> => {
      const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(value || '{}'))
      if (parsed.success) return parsed.data
      context.addIssue({ code: 'custom', message: 'must be the text of a JSON object' })
      return z.NEVER
    }),
])

/** As the REST API: far deeper values would overflow the stack of `JSON.stringify`. */
const isDeeper = (value: unknown, limit: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (limit === 0 || Object.values(value).some((each) => isDeeper(each, limit - 1)))

const Message = z.object({
  to: z
    .array(id)
    .max(SIGNALLING_LIMITS.signalRecipients)
    .nullish()
    .transform((to) => to ?? []),
  data: z
    .unknown()
    .refine((data) => !isDeeper(data, MAX_NESTING), `must not be nested deeper than ${MAX_NESTING}`)
    .transform((data) =>
      data === undefined || data === null ? '' : typeof data === 'string' ? data : JSON.stringify(data),
    ),
  type: optional(z.string().max(512)),
})

const filterEvent = z.object({ streamId: id, eventType: text })

/** The parameters of each method of version 2. */
export const LEGACY_CALLS = {
  joinRoom: z.object({
    token: z.string().min(1).max(4_096),
    platform: optional(z.string().transform((platform) => platform.slice(0, 512))),
    sdkVersion: optional(z.string().max(64)),
    metadata: optional(text),
    secret: optional(text),
  }),
  connect: z.object({ sessionId: z.string().max(16_384) }),
  leaveRoom: Nothing,
  publishVideo: z.object({
    sdpOffer: sdp,
    hasAudio: flag,
    hasVideo: flag,
    audioActive: optional(flag),
    videoActive: optional(flag),
    typeOfVideo: optional(z.enum(['CAMERA', 'SCREEN', 'CUSTOM'])),
    frameRate: optional(number),
    videoDimensions: optional(z.string().max(256)),
    filter: optional(z.object({ type: z.string(), options: optional(jsonObject) })),
  }),
  prepareReceiveVideoFrom: z.object({ sender: id, reconnect: optional(flag) }),
  receiveVideoFrom: z.object({ sender: id, sdpAnswer: optional(sdp), sdpOffer: optional(sdp) }),
  reconnectStream: z.object({
    /** Absent after a second `publish` of the library, which has overwritten its stream. */
    stream: optional(id),
    sdpString: optional(sdp),
    sdpOffer: optional(sdp),
    forciblyReconnect: optional(flag),
  }),
  onIceCandidate: z.looseObject({}),
  unpublishVideo: Nothing,
  unsubscribeFromVideo: z.object({ sender: id }),
  sendMessage: z.object({ message: jsonObject.pipe(Message) }),
  streamPropertyChanged: z.object({
    streamId: id,
    property: z.string().max(64),
    newValue: z.unknown(),
    reason: optional(z.string().max(64)),
  }),
  videoData: z.looseObject({}),
  forceDisconnect: z.object({ connectionId: id }),
  forceUnpublish: z.object({ streamId: id }),
  applyFilter: z.object({ streamId: id, type: z.string().max(64), options: optional(jsonObject) }),
  removeFilter: z.object({ streamId: id }),
  execFilterMethod: z.object({ streamId: id, method: z.string().max(64), params: optional(jsonObject) }),
  addFilterEventListener: filterEvent,
  removeFilterEventListener: filterEvent,
  subscribeToSpeechToText: z.object({ connectionId: id, lang: z.string().max(64) }),
  unsubscribeFromSpeechToText: z.object({ connectionId: id }),
  echo: z.looseObject({}),
} as const satisfies Record<string, z.ZodType>

export type LegacyMethod = keyof typeof LEGACY_CALLS
export type LegacyCall<M extends LegacyMethod> = z.output<(typeof LEGACY_CALLS)[M]>

export const isLegacyMethod = (name: string): name is LegacyMethod => Object.hasOwn(LEGACY_CALLS, name)

/** The label of the device in `{"label":"…"}`; the library does not limit its length. */
export function labelOf(value: unknown): string {
  const read = z.object({ label: z.string() }).safeParse(typeof value === 'string' ? parseJson(value) : value)
  return read.success ? read.data.label.slice(0, MOST_LABEL) : ''
}

/** The `tok_…` part of a token, which the library passes on as the whole URL. */
export const tokenOf = (token: string): string => URL.parse(token)?.searchParams.get('token') ?? token

/**
 * `{"width":W,"height":H}` as our interface has it; the library sends the members in either order, and fractions for some
 * devices.
 */
export function dimensionsOf(value: unknown): string | undefined {
  const once = typeof value === 'string' ? parseJson(value) : value
  const read = z.object({ width: z.number().min(0).max(99_999), height: z.number().min(0).max(99_999) }).safeParse(once)
  if (!read.success) return undefined
  return JSON.stringify({ width: Math.round(read.data.width), height: Math.round(read.data.height) })
}
