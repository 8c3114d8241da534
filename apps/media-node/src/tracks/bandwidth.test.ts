import { describe, expect, it } from '@jest/globals'
import { allowedLayers, fittingLayer, incomingMaximum, outgoingBitrates, sendLimit } from './bandwidth.js'
import { ReceiverMaxima } from './receiver-maxima.js'

const limits = (values: object) => ({ maxSendKbps: 0, minSendKbps: 0, maxRecvKbps: 0, minRecvKbps: 0, ...values })

describe('the maximum of the send transport', () => {
  it.each<[string, number, Parameters<typeof incomingMaximum>[1], number]>([
    ['all it wants, with 0', 0, { audio: 3, videoMaxKbps: [0, 0, 0] }, 0],
    ['its maximum, before it publishes', 1_000, { audio: 0, videoMaxKbps: [] }, 1_000_000],
    ['its maximum, and room for its audio', 1_000, { audio: 1, videoMaxKbps: [1_000] }, 1_064_000],
    ['the sum of the maxima of its streams', 1_000, { audio: 1, videoMaxKbps: [1_000, 200] }, 1_264_000],
    ['no more than the receivers of its only stream allow', 0, { audio: 0, videoMaxKbps: [200] }, 200_000],
    ['all it wants, while one stream has no maximum', 0, { audio: 0, videoMaxKbps: [200, 0] }, 0],
    ['never less than mediasoup takes', 1, { audio: 0, videoMaxKbps: [1] }, 30_000],
    ['never more either', 0, { audio: 0, videoMaxKbps: [Number.MAX_SAFE_INTEGER] }, 1e9],
  ])('is %s', (_, maxSendKbps, published, expected) => {
    expect(incomingMaximum(limits({ maxSendKbps }), published)).toBe(expected)
  })
})

describe('the limit that receivers put on a publisher', () => {
  it('is the lowest maximum of the receivers', () => {
    const maxima = new ReceiverMaxima()
    expect(maxima.lowest).toBe(0)
    for (const kbps of [500, 0, 200, 200]) maxima.add(kbps)
    expect(maxima.lowest).toBe(200)
    maxima.remove(200)
    maxima.remove(0)
    expect(maxima.lowest).toBe(200)
    maxima.remove(200)
    expect(maxima.lowest).toBe(500)
    maxima.remove(500)
    expect(maxima.lowest).toBe(0)
  })

  it.each([
    [0, 0, 0],
    [0, 200, 200],
    [1_000, 200, 200],
    [1_000, 1_000, 0],
    [200, 1_000, 0],
    [1_000, 0, 0],
  ])('limits a publisher of at most %d kbps to %d: %d', (own, lowest, expected) => {
    expect(sendLimit(own, lowest)).toBe(expected)
  })
})

describe('the bitrates of the receive transport', () => {
  it('have a minimum that does not grow with the streams and never exceeds the maximum', () => {
    const both = limits({ maxRecvKbps: 400, minRecvKbps: 300 })
    expect(outgoingBitrates(both, { audio: 0, video: 3 })).toEqual({ max: 1_200_000, min: 300_000 })
    expect(outgoingBitrates(limits({ maxRecvKbps: 200, minRecvKbps: 300 }), { audio: 0, video: 1 })).toEqual({
      max: 200_000,
      min: 200_000,
    })
    expect(outgoingBitrates(limits({ minRecvKbps: 300 }), { audio: 1, video: 1 })).toEqual({ max: 0, min: 300_000 })
    expect(outgoingBitrates(limits({}), { audio: 1, video: 1 })).toEqual({ max: 0, min: 0 })
  })

  it.each([
    [{}, { max: 0, min: 5_000_000 }],
    [{ minRecvKbps: 8_000 }, { max: 0, min: 8_000_000 }],
    [{ maxRecvKbps: 1_000 }, { max: 5_000_000, min: 5_000_000 }],
    [
      { maxRecvKbps: 6_000, minRecvKbps: 300 },
      { max: 6_000_000, min: 5_000_000 },
    ],
  ])('with the limits %j suffice for tracks that need 5,000 kbps to start', (values, expected) => {
    expect(outgoingBitrates(limits(values), { audio: 0, video: 1 }, 5_000)).toEqual(expected)
  })
})

describe('the highest layer for a receiver', () => {
  const layers = [100, 300, 900]

  it.each<[string, (number | undefined)[], number, number | undefined]>([
    ['above all layers', layers, 1_000, undefined],
    ['of the highest layer', layers, 900, undefined],
    ['below the highest layer', layers, 899, 1],
    ['of the lowest layer', layers, 100, 0],
    ['below all layers', layers, 50, 0],
    ['of 0', layers, 0, undefined],
    ['without simulcast', [900], 100, undefined],
    ['when the publisher names no bit rates', [undefined, undefined, undefined], 100, undefined],
    ['of 0 when the highest layer is not sent', [100, 300, 0], 0, 1],
    ['above all layers when only the lowest is sent', [100, 0, 0], 1_000, 0],
    ['below the layers that are sent', [100, 300, 0], 200, 0],
  ])('fits a maximum %s', (_, layerKbps, maxRecvKbps, expected) => {
    expect(fittingLayer(layerKbps, maxRecvKbps)).toBe(expected)
  })

  it('restricts the preferred layers of a subscriber', () => {
    expect(allowedLayers({ spatialLayer: 2, temporalLayer: 1 }, 1)).toEqual({ spatialLayer: 1, temporalLayer: 1 })
    expect(allowedLayers({ spatialLayer: 0 }, 1)).toEqual({ spatialLayer: 0 })
    expect(allowedLayers({ spatialLayer: 2 }, undefined)).toEqual({ spatialLayer: 2 })
  })
})
