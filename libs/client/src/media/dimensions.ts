import type { StreamChangeReason } from '@session-service/contract'

export interface VideoDimensions {
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** Parses the protocol's JSON text `{"width":W,"height":H}`; null when it is malformed. */
export function parseDimensions(text: string | null | undefined): VideoDimensions | null {
  if (!text) return null
  try {
    const { width, height } = JSON.parse(text) as Partial<VideoDimensions>
    return typeof width === 'number' && typeof height === 'number' ? { width, height } : null
  } catch {
    return null
  }
}

export const formatDimensions = ({ width, height }: VideoDimensions): string => JSON.stringify({ width, height })

type Dimensions = string | null | undefined

/** The reason of a new video size: a rotated device swaps both sides, a shared screen is resized, else a new track. */
export function dimensionsReason(before: Dimensions, after: Dimensions, screen: boolean): StreamChangeReason {
  if (screen) return 'screenResized'
  const [old, now] = [parseDimensions(before), parseDimensions(after)]
  const swapped = old && now && old.width === now.height && old.height === now.width && old.width !== old.height
  return swapped ? 'deviceRotated' : 'trackReplaced'
}
