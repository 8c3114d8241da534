import { describe, expect, it } from '@jest/globals'
import { kindOf, settingsOf, settingsOfMethod, type OperatorPipelines } from './filter-settings.js'

const PIPELINES: OperatorPipelines = {
  meter: { kind: 'audio', description: ' level\n\tname=meter ', properties: ['meter.interval'] },
}
const METER = { type: 'GStreamerFilter', options: { command: 'meter' } }
const property = (name: string, value: unknown) => ({ element: 'meter', property: name, value })

describe('the settings of a filter', () => {
  it.each([
    ['AudioGainFilter', { gain: -20 }, [['volume', 0.1]]],
    ['NoiseSuppressionFilter', { level: 'high' }, [['level', 'high']]],
    [
      'BlurFilter',
      { regions: [{ x: 0, y: 0.1, width: 0.5, height: 1 }], strength: 0.5 },
      [
        ['regions', '0,0.1,0.5,1'],
        ['strength', 0.5],
      ],
    ],
    ['ChromaFilter', { background: { color: '#ff0000' } }, [['backgroundColor', '#ff0000']]],
    ['ChromaFilter', { background: { image: 'aGk=' } }, [['backgroundImage', 'aGk=']]],
    [
      'GStreamerFilter',
      { command: 'meter', properties: [property('interval', 5)] },
      [
        ['description', 'level name=meter'],
        ['meter.interval', 5],
      ],
    ],
  ])('%s %j', (type, options, settings) => {
    expect(settingsOf({ type, options }, PIPELINES)).toEqual(settings)
  })

  it('has the kind of its type, or of the pipeline', () => {
    expect(kindOf({ type: 'BlurFilter', options: {} }, PIPELINES)).toBe('video')
    expect(kindOf(METER, PIPELINES)).toBe('audio')
  })

  it.each([
    ['toString', [], 'options.command'],
    ['meter', [property('message', true)], 'options.properties.0.property'],
    ['meter', [property('interval', '1\n2')], 'options.properties.0.value'],
  ])('rejects the pipeline %s with %j', (command, properties, field) => {
    const run = () => settingsOf({ type: 'GStreamerFilter', options: { command, properties } }, PIPELINES)
    expect(run).toThrow(expect.objectContaining({ code: 'INVALID', message: expect.stringContaining(field) }))
  })

  it('follows methods', () => {
    const chroma = { type: 'ChromaFilter', options: {} }
    expect(settingsOfMethod(chroma, 'setBackground', { color: '#00ff00' }, {})).toEqual([
      ['backgroundColor', '#00ff00'],
    ])
    expect(settingsOfMethod(METER, 'setElementProperty', property('interval', 7), PIPELINES)).toEqual([
      ['meter.interval', 7],
    ])
    expect(() => settingsOfMethod(METER, 'setElementProperty', property('name', 'x'), PIPELINES)).toThrow(
      'params.property',
    )
  })
})
