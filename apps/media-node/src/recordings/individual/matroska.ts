import { open } from 'node:fs/promises'

const CLUSTER = Buffer.from('1f43b675', 'hex')
/** The start of the codec id of a video track. */
const VIDEO_CODEC = /V_(?:VP|MPEG)/
const MAX_HEADER_BYTES = 64 * 1024

/** Whether a Matroska file has a video track; undefined until it has more than a header. */
export async function hasVideoTrack(path: string): Promise<boolean | undefined> {
  const start = await startOf(path)
  const at = start.indexOf(CLUSTER)
  return at < 0 ? undefined : VIDEO_CODEC.test(start.toString('latin1', 0, at))
}

/** The header and the start of the media, as far as they are written. */
async function startOf(path: string): Promise<Buffer> {
  const file = await open(path).catch(() => undefined)
  if (!file) return Buffer.alloc(0)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
