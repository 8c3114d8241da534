import { describe, expect, it } from '@jest/globals'
import { ServiceError } from '../errors.js'
import { describeImage, FILTER_IMAGE_MAX_LENGTH, imageHeader } from './filter-image.js'
import { checkFilter, checkFilterMethod, filterKind, filterOptionsAfter, FILTER_METHODS } from './filter-types.js'

const bytes = (...values: (number | string)[]): Uint8Array =>
  Uint8Array.from(values.flatMap((value) => (typeof value === 'number' ? [value] : [...Buffer.from(value, 'latin1')])))
const png = (width: number, height: number): string => {
  const header = bytes(0x89, 'PNG\r\n', 0x1a, '\n', 0, 0, 0, 13, 'IHDR', 0, 0, 0, 0, 0, 0, 0, 0)
  const view = new DataView(header.buffer)
  view.setUint32(16, width)
  view.setUint32(20, height)
  return Buffer.from(header).toString('base64')
}
const jpeg = (...segments: number[]): Uint8Array => bytes(0xff, 0xd8, ...segments)
const APP0 = [0xff, 0xe0, 0, 4, 1, 2]
const frame = (width: number, height: number): number[] => [
  ...[0xff, 0xc2, 0, 17, 8],
  ...[height >> 8, height & 255, width >> 8, width & 255, 3],
]
const IMAGE = png(16, 9)
const JPEG = Buffer.from(jpeg(...APP0, ...frame(640, 480))).toString('base64')
const region = { x: 0, y: 0, width: 0.5, height: 0.5 }

function problemOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ code: 'INVALID' })
    return (error as ServiceError).message
  }
}
/** The names of the fields in an error. */
const fields = (message: string | undefined): string[] | undefined =>
  message?.split('; ').map((problem) => problem.slice(0, problem.indexOf(':')))

describe('the options of a filter', () => {
  it.each<[string, object, object]>([
    ['ImageOverlayFilter', { image: IMAGE }, { image: IMAGE, x: 0, y: 0, width: 1, height: 1, alpha: 1 }],
    ['ImageOverlayFilter', { image: `data:image/jpeg;base64,${JPEG}`, x: 0.7, width: 0.3 }, { image: JPEG, x: 0.7 }],
    ['ChromaFilter', {}, { color: '#00ff00', angle: 20, noiseLevel: 2, background: { color: '#000000' } }],
    ['ChromaFilter', { background: { image: IMAGE } }, { background: { image: IMAGE } }],
    ['BlurFilter', { regions: [region] }, { regions: [region], strength: 0.5 }],
    ['AudioGainFilter', { gain: -6.5 }, { gain: -6.5 }],
    ['NoiseSuppressionFilter', {}, { level: 'moderate' }],
    ['GStreamerFilter', { command: 'sepia' }, { command: 'sepia', properties: [] }],
  ])('of %s accept %j', (type, options, expected) => {
    expect(checkFilter({ type, options: { ...options } })).toEqual({
      type,
      options: expect.objectContaining({ ...expected }),
    })
  })

  it.each<[string, object, string[]]>([
    ['NoSuchFilter', {}, ['filter.type']],
    ['constructor', {}, ['filter.type']],
    ['ImageOverlayFilter', {}, ['filter.options.image']],
    ['ImageOverlayFilter', { image: 'a picture' }, ['filter.options.image']],
    ['ImageOverlayFilter', { image: Buffer.from('GIF89a').toString('base64') }, ['filter.options.image']],
    ['ImageOverlayFilter', { image: png(0, 9) }, ['filter.options.image']],
    ['ImageOverlayFilter', { image: png(65_000, 65_000) }, ['filter.options.image']],
    ['ImageOverlayFilter', { image: IMAGE, alpha: 1.1, y: -1 }, ['filter.options.y', 'filter.options.alpha']],
    ['ImageOverlayFilter', { image: IMAGE, x: 0.5 }, ['filter.options.width']],
    ['ImageOverlayFilter', { image: IMAGE, height: 0 }, ['filter.options.height']],
    ['ChromaFilter', { color: 'green' }, ['filter.options.color']],
    ['ChromaFilter', { background: {} }, ['filter.options.background']],
    ['ChromaFilter', { background: { color: '#000000', image: IMAGE } }, ['filter.options.background']],
    ['ChromaFilter', { angle: 91, noiseLevel: -1 }, ['filter.options.angle', 'filter.options.noiseLevel']],
    ['BlurFilter', {}, ['filter.options.regions']],
    ['BlurFilter', { regions: [] }, ['filter.options.regions']],
    ['BlurFilter', { regions: Array.from({ length: 17 }, () => region) }, ['filter.options.regions']],
    ['BlurFilter', { regions: [region, { ...region, y: 0.6 }] }, ['filter.options.regions.1.height']],
    ['AudioGainFilter', { gain: 21 }, ['filter.options.gain']],
    ['AudioGainFilter', { gain: Number.NaN }, ['filter.options.gain']],
    ['NoiseSuppressionFilter', { level: 'extreme' }, ['filter.options.level']],
    ['GStreamerFilter', { command: 'filesrc location=/etc/passwd' }, ['filter.options.command']],
    ['GStreamerFilter', { command: '-v' }, ['filter.options.command']],
  ])('of %s reject %j and name the field', (type, options, expected) => {
    expect(fields(problemOf(() => checkFilter({ type, options: { ...options } }, 'filter.')))).toEqual(expected)
  })

  it('reject an image that is too large for a request', () => {
    const image = IMAGE + 'A'.repeat(FILTER_IMAGE_MAX_LENGTH)
    const message = problemOf(() => checkFilter({ type: 'ImageOverlayFilter', options: { image } }))
    expect(message).toBe(`options.image: must have at most ${FILTER_IMAGE_MAX_LENGTH} characters`)
  })

  it.each(Object.keys(FILTER_METHODS))('of %s reject an unknown option', (type) => {
    const message = problemOf(() => checkFilter({ type, options: { surprise: 1 } }))
    expect(message).toContain('"surprise"')
  })
})

describe('the methods of a filter', () => {
  it.each<[string, string, object]>([
    ['ImageOverlayFilter', 'setImage', { image: IMAGE }],
    ['ImageOverlayFilter', 'setPosition', region],
    ['ImageOverlayFilter', 'setAlpha', { alpha: 0 }],
    ['ChromaFilter', 'setBackground', { image: IMAGE }],
    ['ChromaFilter', 'setColor', { color: '#0000FF' }],
    ['BlurFilter', 'setRegions', { regions: [region] }],
    ['BlurFilter', 'setStrength', { strength: 1 }],
    ['AudioGainFilter', 'setGain', { gain: -60 }],
    ['NoiseSuppressionFilter', 'setLevel', { level: 'very-high' }],
    ['GStreamerFilter', 'setElementProperty', { element: 'balance', property: 'hue', value: 0.5 }],
  ])('of %s accept %s with %j', (type, method, params) => {
    expect(checkFilterMethod(type, method, { ...params })).toEqual(params)
  })

  it.each<[string, string, object, string[]]>([
    ['BlurFilter', 'setGain', { gain: 1 }, ['method']],
    ['BlurFilter', 'toString', {}, ['method']],
    ['AudioGainFilter', 'setGain', { gain: '1' }, ['params.gain']],
    ['BlurFilter', 'setStrength', { strength: 1, more: 1 }, ['params']],
    ['ImageOverlayFilter', 'setPosition', { ...region, x: 0.9 }, ['params.width']],
    ['GStreamerFilter', 'setElementProperty', { element: 'a b', property: 'p', value: 1 }, ['params.element']],
    ['GStreamerFilter', 'setElementProperty', { element: 'a', property: 'p', value: {} }, ['params.value']],
  ])('of %s reject %s with %j and name the field', (type, method, params, expected) => {
    expect(fields(problemOf(() => checkFilterMethod(type, method, { ...params })))).toEqual(expected)
  })

  it.each<[string, object, string, object, object]>([
    ['AudioGainFilter', { gain: 1 }, 'setGain', { gain: 2 }, { gain: 2 }],
    [
      'ImageOverlayFilter',
      { image: 'a', x: 0, alpha: 1 },
      'setAlpha',
      { alpha: 0.5 },
      { image: 'a', x: 0, alpha: 0.5 },
    ],
    [
      'ChromaFilter',
      { color: '#00ff00', background: { color: '#000000' } },
      'setBackground',
      { image: IMAGE },
      { color: '#00ff00', background: { image: IMAGE } },
    ],
    [
      'GStreamerFilter',
      {
        command: 'a',
        properties: [
          { element: 'e', property: 'p', value: 1 },
          { element: 'e', property: 'q', value: 1 },
        ],
      },
      'setElementProperty',
      { element: 'e', property: 'p', value: 2 },
      {
        command: 'a',
        properties: [
          { element: 'e', property: 'q', value: 1 },
          { element: 'e', property: 'p', value: 2 },
        ],
      },
    ],
  ])('of %s with %j: %s with %j leads to %j', (type, options, method, params, expected) => {
    expect(filterOptionsAfter({ type, options: { ...options } }, method, { ...params })).toEqual(expected)
  })

  it('keep the newest properties of elements within the limit of the options', () => {
    let options: Record<string, unknown> = { command: 'a', properties: [] }
    for (let index = 0; index < 40; index++) {
      const params = { element: 'e', property: `p${index}`, value: index }
      options = filterOptionsAfter({ type: 'GStreamerFilter', options }, 'setElementProperty', params)
    }
    expect(options.properties).toHaveLength(32)
    expect(options.properties).toContainEqual({ element: 'e', property: 'p39', value: 39 })
    expect(() => checkFilter({ type: 'GStreamerFilter', options })).not.toThrow()
  })
})

describe('the kind of media of a filter', () => {
  it.each([
    ['ImageOverlayFilter', 'video'],
    ['NoiseSuppressionFilter', 'audio'],
    ['GStreamerFilter', undefined],
    ['NoSuchFilter', undefined],
  ])('of %s is %s', (type, kind) => {
    expect(filterKind(type)).toBe(kind)
  })
})

describe('the header of an image', () => {
  it.each<[string, Uint8Array, object | undefined]>([
    ['a PNG', Buffer.from(png(640, 360), 'base64'), { type: 'image/png', width: 640, height: 360 }],
    ['a JPEG', jpeg(...APP0, ...frame(640, 360)), { type: 'image/jpeg', width: 640, height: 360 }],
    ['fill bytes', jpeg(0xff, ...APP0, 0xff, ...frame(1, 2)), { type: 'image/jpeg', width: 1, height: 2 }],
    ['a JPEG that ends early', jpeg(...APP0, 0xff, 0xc0, 0), undefined],
    ['a segment without an end', jpeg(0xff, 0xe0, 0xff, 0xff, 0, 0, 0, 0, 0), undefined],
    ['a segment of length 0', jpeg(0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0), undefined],
    ['no content', new Uint8Array(), undefined],
  ])('is read from %s', (_, content, expected) => {
    expect(imageHeader(content)).toEqual(expected)
  })

  it('describes an image by its type and size', () => {
    expect(describeImage(IMAGE)).toBe('image/png, 24 bytes')
    expect(describeImage(JPEG)).toMatch(/^image\/jpeg, \d+ bytes$/)
  })
})
