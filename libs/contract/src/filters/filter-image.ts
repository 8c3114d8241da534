import { z } from 'zod'

/** Base64 characters: a request with one image fits into a frame of SIGNALLING_MAX_FRAME_BYTES. */
export const FILTER_IMAGE_MAX_LENGTH = 196_608
/** Pixels, width times height: a small file can describe a very large picture. */
export const FILTER_IMAGE_MAX_PIXELS = 4_096 * 2_160

const DATA_URL_PREFIX = /^data:image\/(?:png|jpeg);base64,/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export interface ImageHeader {
  type: 'image/png' | 'image/jpeg'
  width: number
  height: number
}

/** An image in requests: base64 text or a data URL of a PNG or JPEG file. The output is base64 text. */
export const FilterImage = z
  .string()
  .transform((image) => image.replace(DATA_URL_PREFIX, ''))
  .pipe(
    z.string().superRefine((image, context) => {
      const message = problemOf(image)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    }),
  )

function problemOf(image: string): string | undefined {
  if (image.length > FILTER_IMAGE_MAX_LENGTH) return `must have at most ${FILTER_IMAGE_MAX_LENGTH} characters`
  if (!BASE64.test(image)) return 'must be base64 text'
  const header = imageHeader(bytesOf(image))
  if (!header || header.width === 0 || header.height === 0) return 'must be a PNG or JPEG image'
  if (header.width * header.height <= FILTER_IMAGE_MAX_PIXELS) return undefined
  return `must have at most ${FILTER_IMAGE_MAX_PIXELS} pixels, not ${header.width}×${header.height}`
}

/** The description of an image that replaces it in views, such as `image/png, 1234 bytes`. */
export function describeImage(image: string): string {
  const bytes = bytesOf(image)
  return `${imageHeader(bytes)?.type ?? 'image'}, ${bytes.length} bytes`
}

const bytesOf = (image: string): Uint8Array => Uint8Array.from(atob(image), (character) => character.charCodeAt(0))

/** The type and size of a PNG or JPEG file from its header; undefined for other content. */
export function imageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return pngHeader(view) ?? jpegHeader(view)
}

const PNG_SIGNATURE = 0x8950_4e47_0d0a_1a0an
const IHDR = 0x4948_4452

function pngHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 24 || view.getBigUint64(0) !== PNG_SIGNATURE || view.getUint32(12) !== IHDR) return undefined
  return { type: 'image/png', width: view.getUint32(16), height: view.getUint32(20) }
}

const START_OF_IMAGE = 0xffd8
/** Markers of frame headers: C0 to CF except DHT, JPG and DAC. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker)

/** Skips the segments before the frame header. */
function jpegHeader(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== START_OF_IMAGE) return undefined
  let at = 2
  while (at + 9 <= view.byteLength) {
    const marker = view.getUint16(at)
    if (marker < 0xff01) return undefined
    if (isFrameHeader(marker))
      return { type: 'image/jpeg', height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    // A marker may be preceded by fill bytes.
    at += marker === 0xffff ? 1 : 2 + view.getUint16(at + 2)
  }
  return undefined
}
