import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { checkFilter } from '@session-service/contract'
import { until } from '@session-service/testing'
import { colorAt, decode, lastPicture, loudnessOf, pngOf, type RawPicture } from './fixtures/decode.js'
import { OUTPUT_SSRC, Processing } from './fixtures/processing.js'
import type { OperatorPipelines, ProcessorFilter } from './media-processor.js'

const PIPELINES: OperatorPipelines = {
  balance: {
    kind: 'video',
    description: 'videobalance name=balance\n  saturation=0.0',
    properties: ['balance.saturation'],
  },
  meter: { kind: 'audio', description: 'level name=meter interval=50000000', properties: [] },
  fails: { kind: 'video', description: 'identity error-after=10', properties: [] },
  broken: { kind: 'video', description: 'nosuchelement', properties: [] },
}
const RED = '300'
const GREEN = '030'
const BLUE = '003'
const BLACK = '000'
const WHITE = '333'

let running: Processing | undefined
let red: string
let blue: string

beforeAll(async () => {
  ;[red, blue] = await Promise.all([pngOf('red'), pngOf('blue')])
})

afterEach(async () => {
  await running?.close()
  running = undefined
})

const open = (kind: 'audio' | 'video', type: string, options: object): Promise<Processing> => {
  const filter: ProcessorFilter = checkFilter({ type, options: { ...options } })
  const codecs = kind === 'video' ? ({ from: 'VP8', to: 'H264' } as const) : ({ from: 'opus', to: 'opus' } as const)
  return Processing.open({ ...codecs, filter, pipelines: PIPELINES, maxKbps: kind === 'video' ? 1_000 : 128 })
}

/** A filter that receives pictures of this source. */
async function watch(type: string, options: object, media: string): Promise<Processing> {
  running = await open('video', type, options)
  await running.source.play({ codec: 'VP8', media: `${media}:size=320x180:rate=15` })
  return running
}

async function listen(type: string, options: object, media: string): Promise<Processing> {
  running = await open('audio', type, options)
  await running.source.play({ codec: 'opus', media })
  return running
}

/** Waits for a picture that has what is expected. */
async function shows({ sink }: Processing, expected: string, colors: (picture: RawPicture) => string[]): Promise<void> {
  await until(`the picture shows ${expected}`, async () => {
    const picture = await lastPicture('H264', sink.packets)
    const seen = colors(picture).join(' ')
    if (seen !== expected) throw new Error(seen)
    return true
  })
}

/** The level of the next second. */
const nextLoudness = async ({ sink }: Processing): Promise<number> => loudnessOf(await sink.receive(50))

describe('the filter ImageOverlayFilter', () => {
  const sides = (picture: RawPicture): string[] => [colorAt(picture, 0.1, 0.2), colorAt(picture, 0.9, 0.8)]

  it('draws an image, which methods move, replace and hide', async () => {
    const overlay = { image: red, x: 0, y: 0, width: 0.25, height: 0.5 }
    const processing = await watch('ImageOverlayFilter', overlay, 'color=white')
    const { processor } = processing
    await shows(processing, `${RED} ${WHITE}`, sides)
    await processor.execFilterMethod('setPosition', { x: 0.75, y: 0.5, width: 0.25, height: 0.5 })
    await shows(processing, `${WHITE} ${RED}`, sides)
    await processor.execFilterMethod('setImage', { image: blue })
    await shows(processing, `${WHITE} ${BLUE}`, sides)
    await processor.execFilterMethod('setAlpha', { alpha: 0 })
    await shows(processing, `${WHITE} ${WHITE}`, sides)
  })

  it('keeps the image at its place when the size of the picture changes', async () => {
    const overlay = { image: red, x: 0, y: 0, width: 0.25, height: 0.5 }
    const processing = await watch('ImageOverlayFilter', overlay, 'color=white')
    await shows(processing, `${RED} ${WHITE}`, sides)
    const { source, sink } = processing
    await source.play({ codec: 'VP8', media: 'color=white:size=180x320:rate=15' })
    await until('the size changes', async () => (await decode('H264', sink.packets)).at(-1)?.height === 320)
    sink.requestKeyFrame(OUTPUT_SSRC)
    await shows(processing, `${RED} ${WHITE}`, sides)
  })

  it('rejects an image that cannot be read, and keeps the former one', async () => {
    const image = Buffer.from(red, 'base64').subarray(0, 40).toString('base64')
    await expect(open('video', 'ImageOverlayFilter', { image })).rejects.toMatchObject({ code: 'INVALID' })
    const processing = await watch('ImageOverlayFilter', { image: red }, 'color=white')
    await expect(processing.processor.execFilterMethod('setImage', { image })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('image'),
    })
    await shows(processing, `${RED} ${RED}`, sides)
  })
})

describe('the filter ChromaFilter', () => {
  const parts = (picture: RawPicture): string[] => [colorAt(picture, 0.1, 0.1), colorAt(picture, 0.5, 0.5)]
  const scene = 'color=0x00ff00:size=320x180:rate=15,drawbox=x=80:y=45:w=160:h=90:color=red:t=fill'

  it('replaces a colour by another one or by an image', async () => {
    running = await open('video', 'ChromaFilter', { background: { color: '#0000ff' } })
    const processing = running
    await processing.source.play({ codec: 'VP8', media: scene })
    await shows(processing, `${BLUE} ${RED}`, parts)
    await processing.processor.execFilterMethod('setBackground', { image: await pngOf('white', '200x50') })
    await shows(processing, `${WHITE} ${RED}`, parts)
    await processing.processor.execFilterMethod('setBackground', { color: '#000000' })
    await processing.processor.execFilterMethod('setColor', { color: '#ff0000' })
    await shows(processing, `${GREEN} ${BLACK}`, parts)
  })
})

describe('the filter BlurFilter', () => {
  /** How much neighbours differ in each half of the last picture. */
  async function details({ sink }: Processing): Promise<[left: number, right: number]> {
    const { width, height, pixels } = await lastPicture('H264', sink.packets, { width: 320, height: 180 })
    const sums: [number, number] = [0, 0]
    for (let y = 20; y < height - 20; y++)
      for (let x = 20; x < width - 20; x++) {
        if (Math.abs(x - width / 2) < 20) continue
        const at = 3 * (y * width + x)
        sums[x < width / 2 ? 0 : 1] += Math.abs((pixels[at] ?? 0) - (pixels[at + 3] ?? 0))
      }
    return sums
  }
  const grid = 'color=black:size=320x180:rate=15,drawgrid=w=8:h=8:t=4:c=white'

  it('makes regions unrecognizable, which methods change', async () => {
    running = await open('video', 'BlurFilter', { regions: [{ x: 0, y: 0, width: 0.5, height: 1 }] })
    const processing = running
    await processing.source.play({ codec: 'VP8', media: grid })
    await until('the left half is blurred, the right one is not', async () => {
      const [left, right] = await details(processing)
      return left * 10 < right
    })
    const regions = [
      { x: 0.5, y: 0, width: 0.25, height: 1 },
      { x: 0.75, y: 0, width: 0.25, height: 1 },
    ]
    await processing.processor.execFilterMethod('setRegions', { regions })
    await processing.processor.execFilterMethod('setStrength', { strength: 1 })
    await until('the right half is blurred, the left one is not', async () => {
      const [left, right] = await details(processing)
      return right * 10 < left
    })
  })
})

describe('the filter AudioGainFilter', () => {
  it('changes the level by so much', async () => {
    const processing = await listen('AudioGainFilter', { gain: 0 }, 'sine=frequency=1000:sample_rate=48000')
    await processing.sink.receive(50)
    const before = await nextLoudness(processing)
    await processing.processor.execFilterMethod('setGain', { gain: -20 })
    await until('the level is 20 dB lower', async () => Math.abs((await nextLoudness(processing)) - before + 20) < 1)
    await processing.processor.execFilterMethod('setGain', { gain: 6 })
    await until('the level is 6 dB higher', async () => Math.abs((await nextLoudness(processing)) - before - 6) < 1)
  })
})

describe('the filter NoiseSuppressionFilter', () => {
  it('lowers noise by more at a higher level', async () => {
    const noise = 'anoisesrc=color=pink:amplitude=0.1:sample_rate=48000'
    const processing = await listen('NoiseSuppressionFilter', { level: 'low' }, noise)
    await processing.sink.receive(150)
    const low = await nextLoudness(processing)
    await processing.processor.execFilterMethod('setLevel', { level: 'very-high' })
    await until('the noise is 6 dB lower', async () => (await nextLoudness(processing)) < low - 6)
  })
})

describe('the filter GStreamerFilter', () => {
  const middle = (picture: RawPicture): string[] => [colorAt(picture, 0.5, 0.5)]

  it('runs a pipeline of the operator, whose allowed properties methods change', async () => {
    const processing = await watch('GStreamerFilter', { command: 'balance' }, 'color=blue')
    await shows(processing, BLACK, middle)
    await processing.processor.execFilterMethod('setElementProperty', {
      element: 'balance',
      property: 'saturation',
      value: 1,
    })
    await shows(processing, BLUE, middle)
  })

  it('starts with the properties of its options', async () => {
    const properties = [{ element: 'balance', property: 'saturation', value: 1 }]
    await shows(await watch('GStreamerFilter', { command: 'balance', properties }, 'color=blue'), BLUE, middle)
  })

  it.each([
    ['an unknown name', { command: 'videobalance' }, 'options.command'],
    ['a property that is not allowed', { property: 'hue', value: 1 }, 'options.properties.0.property'],
    ['a value of another type', { property: 'saturation', value: 'much' }, 'balance.saturation'],
    ['a value that is out of range', { property: 'saturation', value: 20 }, 'balance.saturation'],
    ['a pipeline with an unknown element', { command: 'broken' }, 'pipeline'],
  ])('rejects %s', async (_, { command = 'balance', ...property }: Record<string, unknown>, field) => {
    const properties = 'property' in property ? [{ element: 'balance', ...property }] : []
    await expect(open('video', 'GStreamerFilter', { command, properties })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(field),
    })
  })

  it('ends the processor with its cause when it fails', async () => {
    const processing = await watch('GStreamerFilter', { command: 'fails' }, 'color=blue')
    expect(await processing.exited()).toMatchObject({ cause: 'filter' })
  })

  it('reports messages of its elements at a bounded rate', async () => {
    const processing = await listen('GStreamerFilter', { command: 'meter' }, 'sine=frequency=1000:sample_rate=48000')
    const { seen, sink } = processing
    await until('an event arrives', () => seen.filterEvents.length > 0)
    expect(seen.filterEvents[0]).toEqual([
      'level',
      expect.objectContaining({ rms: [expect.any(Number), expect.any(Number)] }),
    ])
    const begin = sink.packets.length
    const events = seen.filterEvents.length
    await sink.receive(100)
    const seconds = (sink.packets.length - begin) / 50
    expect(seen.filterEvents.length - events).toBeLessThanOrEqual(10 * (seconds + 2))
  })
})

it('a filter without media of its kind is rejected', async () => {
  const filter = checkFilter({ type: 'AudioGainFilter', options: { gain: 1 } })
  await expect(Processing.open({ from: 'VP8', to: 'VP8', filter })).rejects.toMatchObject({ code: 'INVALID' })
})
