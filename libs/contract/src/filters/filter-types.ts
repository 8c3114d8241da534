import { z } from 'zod'
import { ServiceError } from '../errors.js'
import { describeIssues, text } from '../optional.js'
import { type Filter, FILTER_TYPES, type FilterTypeName } from './filter.js'
import { FilterImage } from './filter-image.js'

type Options = Record<string, unknown>

/** A position in the picture, as a fraction of its width or height. */
const fraction = z.number().min(0).max(1)
const extent = z.number().gt(0).max(1)
/** Sums of decimal fractions may exceed 1 by a rounding error. */
const TOLERANCE = 1e-6

/** Rejects a rectangle that is not inside the picture. */
function isInside(
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
  context: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  if (x + width > 1 + TOLERANCE) context.addIssue({ code: 'custom', path: ['width'], message: 'x + width exceeds 1' })
  if (y + height > 1 + TOLERANCE)
    context.addIssue({ code: 'custom', path: ['height'], message: 'y + height exceeds 1' })
}
const rectangle = { x: fraction, y: fraction, width: extent, height: extent }
const Rectangle = z.strictObject(rectangle).superRefine(isInside)
const Regions = z.array(Rectangle).min(1).max(16)

const Color = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #00ff00')
const Background = z
  .strictObject({ color: Color.optional(), image: FilterImage.optional() })
  .refine(({ color, image }) => (color === undefined) !== (image === undefined), 'must have either color or image')
const Gain = z.number().min(-60).max(20)
const Level = z.enum(['low', 'moderate', 'high', 'very-high'])
/** Names of GStreamer's elements and properties. */
const Name = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be a name of letters, digits, "-" and "_"')
const ElementProperty = z.strictObject({
  element: Name,
  property: Name,
  value: z.union([z.boolean(), z.number(), text(1_024)]),
})
type ElementProperty = z.output<typeof ElementProperty>
const MOST_PROPERTIES = 32

interface FilterMethod {
  params: z.ZodType<Options>
  /** The options with which the filter must be applied again after this method, on another node for example. */
  optionsAfter?: (options: Options, params: Options) => Options
}
interface FilterType {
  /** The kind of track that it changes; undefined: either. */
  kind?: 'audio' | 'video'
  options: z.ZodType<Options>
  methods: Readonly<Record<string, FilterMethod>>
}

/** The filters and their methods. */
const FILTERS: Readonly<Record<FilterTypeName, FilterType>> = {
  /** Draws an image over the video. */
  ImageOverlayFilter: {
    kind: 'video',
    options: z
      .strictObject({
        image: FilterImage,
        x: fraction.default(0),
        y: fraction.default(0),
        width: extent.default(1),
        height: extent.default(1),
        alpha: fraction.default(1),
      })
      .superRefine(isInside),
    methods: {
      setImage: { params: z.strictObject({ image: FilterImage }) },
      setPosition: { params: Rectangle },
      setAlpha: { params: z.strictObject({ alpha: fraction }) },
    },
  },
  /** Replaces one color of the video by a background. */
  ChromaFilter: {
    kind: 'video',
    options: z.strictObject({
      color: Color.default('#00ff00'),
      /** The size of the color cube that is replaced, degrees. */
      angle: z.number().min(0).max(90).default(20),
      noiseLevel: z.number().min(0).max(64).default(2),
      background: Background.default({ color: '#000000' }),
    }),
    methods: {
      setBackground: { params: Background, optionsAfter: (options, background) => ({ ...options, background }) },
      setColor: { params: z.strictObject({ color: Color }) },
    },
  },
  /** Blurs regions of the video. */
  BlurFilter: {
    kind: 'video',
    options: z.strictObject({ regions: Regions, strength: fraction.default(0.5) }),
    methods: {
      setRegions: { params: z.strictObject({ regions: Regions }) },
      setStrength: { params: z.strictObject({ strength: fraction }) },
    },
  },
  /** Amplifies the audio, in dB. */
  AudioGainFilter: {
    kind: 'audio',
    options: z.strictObject({ gain: Gain }),
    methods: { setGain: { params: z.strictObject({ gain: Gain }) } },
  },
  NoiseSuppressionFilter: {
    kind: 'audio',
    options: z.strictObject({ level: Level.default('moderate') }),
    methods: { setLevel: { params: z.strictObject({ level: Level }) } },
  },
  /** A pipeline that the operator of the media nodes allows. */
  GStreamerFilter: {
    options: z.strictObject({
      /** The name of the pipeline in the list of the operator. */
      command: Name,
      /** Properties of its elements to set before it starts. */
      properties: z.array(ElementProperty).max(MOST_PROPERTIES).default([]),
    }),
    methods: { setElementProperty: { params: ElementProperty, optionsAfter: withProperty } },
  },
}

/** The methods that the filters offer, by type. */
export const FILTER_METHODS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(FILTERS).map(([type, { methods }]) => [type, Object.keys(methods)]),
)
function withProperty(options: Options, params: Options): Options {
  const { element, property } = params as ElementProperty
  const others = (options.properties as ElementProperty[]).filter(
    (other) => other.element !== element || other.property !== property,
  )
  return { ...options, properties: [...others.slice(1 - MOST_PROPERTIES), params] }
}

/** The kind of track that a filter of this type changes; undefined: either, or the type is unknown. */
export const filterKind = (type: string): 'audio' | 'video' | undefined => filterTypeOf(type)?.kind

const isFilterType = (type: string): type is FilterTypeName => Object.hasOwn(FILTERS, type)
const filterTypeOf = (type: string): FilterType | undefined => (isFilterType(type) ? FILTERS[type] : undefined)

function parse(schema: z.ZodType<Options>, value: Options, field: string): Options {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ServiceError('INVALID', describeIssues(parsed.error, [field]).join('; '))
}

/**
 * The filter with all options. `prefix` precedes the names of fields in errors. @throws ServiceError INVALID
 */
export function checkFilter({ type, options }: Filter, prefix = ''): Filter {
  const known = filterTypeOf(type)
  if (!known) throw new ServiceError('INVALID', `${prefix}type: must be one of ${FILTER_TYPES.join(', ')}`)
  return { type, options: parse(known.options, options, `${prefix}options`) }
}

/** The checked parameters of a method of a filter of this type. @throws ServiceError INVALID */
export function checkFilterMethod(type: string, method: string, params: Options): Options {
  return parse(methodOf(type, method).params, params, 'params')
}

/** The options with which a filter must be applied again after a method, whose parameters are checked. */
export function filterOptionsAfter({ type, options }: Filter, method: string, params: Options): Options {
  const { optionsAfter } = methodOf(type, method)
  return optionsAfter ? optionsAfter(options, params) : { ...options, ...params }
}

function methodOf(type: string, method: string): FilterMethod {
  const methods = filterTypeOf(type)?.methods ?? {}
  const known = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (known) return known
  throw new ServiceError('INVALID', `method: must be one of ${Object.keys(methods).join(', ')}`)
}
