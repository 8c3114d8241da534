import { z } from 'zod'
import { filterKind, ServiceError, type MediaKind } from '@session-service/contract'

/** A filter whose options `checkFilter` of the contract has checked. */
export interface ProcessorFilter {
  type: string
  options: Record<string, unknown>
}

/** A pipeline that the operator allows for the filter GStreamerFilter. */
export interface OperatorPipeline {
  kind: MediaKind
  /** In the syntax of gst-launch, from raw media to raw media. */
  description: string
  /** `element.property`: what clients may set. */
  properties: readonly string[]
}
export type OperatorPipelines = Readonly<Record<string, OperatorPipeline>>

/** A setting of the program and its value. */
type Setting = readonly [name: string, value: string | number | boolean]

const Background = z.union([
  z.object({ color: z.string() }).transform(({ color }): Setting => ['backgroundColor', color]),
  z.object({ image: z.string() }).transform(({ image }): Setting => ['backgroundImage', image]),
])
const Regions = z
  .array(z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() }))
  .transform((regions) => regions.map(({ x, y, width, height }) => [x, y, width, height].join(',')).join(';'))
const ElementProperty = z.object({
  element: z.string(),
  property: z.string(),
  value: z.union([z.string(), z.number(), z.boolean()]),
})

/** The settings of each option and parameter; other options are settings of the same name. */
const SETTINGS: Readonly<Record<string, (value: unknown) => Setting>> = {
  background: (value) => Background.parse(value),
  regions: (value) => ['regions', Regions.parse(value)],
  gain: (value) => ['volume', 10 ** (z.number().parse(value) / 20)],
}

const settingOf = ([name, value]: [string, unknown]): Setting =>
  SETTINGS[name]?.(value) ?? [name, z.union([z.string(), z.number(), z.boolean()]).parse(value)]

const GSTREAMER = 'GStreamerFilter'

function pipelineOf(options: Record<string, unknown>, pipelines: OperatorPipelines): OperatorPipeline {
  const { command } = options
  const pipeline = typeof command === 'string' && Object.hasOwn(pipelines, command) ? pipelines[command] : undefined
  if (pipeline) return pipeline
  throw new ServiceError('INVALID', 'options.command: must be the name of a pipeline that the operator allows')
}

function propertySetting(property: unknown, { properties }: OperatorPipeline, field: string): Setting {
  const { element, property: name, value } = ElementProperty.parse(property)
  if (!properties.includes(`${element}.${name}`))
    throw new ServiceError('INVALID', `${field}property: must be one that the operator allows`)
  if (hasControlCharacter(String(value)))
    throw new ServiceError('INVALID', `${field}value: must not have control characters`)
  return [`${element}.${name}`, value]
}

const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text)

/** The kind of media that a filter changes. @throws ServiceError INVALID */
export function kindOf({ type, options }: ProcessorFilter, pipelines: OperatorPipelines): MediaKind {
  const kind = type === GSTREAMER ? pipelineOf(options, pipelines).kind : filterKind(type)
  if (kind) return kind
  throw new ServiceError('INVALID', `type: ${type} is not known`)
}

/** The settings with which a filter starts. @throws ServiceError INVALID */
export function settingsOf({ type, options }: ProcessorFilter, pipelines: OperatorPipelines): Setting[] {
  if (type !== GSTREAMER) return Object.entries(options).map(settingOf)
  const pipeline = pipelineOf(options, pipelines)
  const properties = z.array(z.unknown()).default([]).parse(options.properties)
  return [
    ['description', pipeline.description.replaceAll(/\s+/g, ' ').trim()],
    ...properties.map((property, at) => propertySetting(property, pipeline, `options.properties.${at}.`)),
  ]
}

/** The settings that a method of a running filter changes; its parameters were checked. @throws ServiceError INVALID */
export function settingsOfMethod(
  { type, options }: ProcessorFilter,
  method: string,
  params: Record<string, unknown>,
  pipelines: OperatorPipelines,
): Setting[] {
  if (type === GSTREAMER) return [propertySetting(params, pipelineOf(options, pipelines), 'params.')]
  if (method === 'setBackground') return [settingOf(['background', params])]
  return Object.entries(params).map(settingOf)
}
