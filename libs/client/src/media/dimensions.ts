import type { StreamChangeReason } from '@session-service/contract'

export interface VideoDimensions {
  /** Pixels. */
  readonly width: number
  readonly height: number
}

/** The wire's JSON text `{"width":W,"height":H}`; null for what is not that. */
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

/** Why the picture has another size now: a turned device swaps the sides, a shared window is resized, else another track. */
export function dimensionsReason(before: Dimensions, after: Dimensions, screen: boolean): StreamChangeReason {
  if (screen) return 'screenResized'
  const [old, now] = [parseDimensions(before), parseDimensions(after)]
  const swapped = old && now && old.width === now.height && old.height === now.width && old.width !== old.height
  return swapped ? 'deviceRotated' : 'trackReplaced'
}
