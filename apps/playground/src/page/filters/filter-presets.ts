import type { FilterOptions } from '@session-service/client'

/** A filter in the menu of a tile. */
export interface FilterPreset extends FilterOptions {
  readonly label: string
}

interface Kind {
  readonly hasAudio: boolean
  readonly hasVideo: boolean
}

const PICTURE: readonly FilterPreset[] = [
  {
    label: 'Blur',
    type: 'BlurFilter',
    options: { regions: [{ x: 0, y: 0, width: 1, height: 1 }], strength: 0.6 },
  },
  { label: 'Green screen', type: 'ChromaFilter', options: { color: '#00ff00', background: { color: '#203040' } } },
]
const SOUND: readonly FilterPreset[] = [
  { label: 'Less noise', type: 'NoiseSuppressionFilter', options: { level: 'high' } },
  { label: 'Louder', type: 'AudioGainFilter', options: { gain: 6 } },
]

/** The filters of the page that the participant may apply to a stream. `badge`: an image as a data URL. */
export function presetsFor({ hasAudio, hasVideo }: Kind, allowed: readonly string[], badge: string): FilterPreset[] {
  const overlay = { image: badge, x: 0.78, y: 0.06, width: 0.18, height: 0.12 }
  const all = [
    ...(hasVideo ? [...PICTURE, { label: 'Badge', type: 'ImageOverlayFilter', options: overlay }] : []),
    ...(hasAudio ? SOUND : []),
  ]
  return all.filter(({ type }) => allowed.includes(type))
}

/** The name of a filter that is in force, which another participant may have applied. */
export const filterInWords = (type: string, presets: readonly FilterPreset[]): string =>
  presets.find((preset) => preset.type === type)?.label ?? type.replace(/Filter$/, '')
