import { describe, expect, test } from '@jest/globals'
import { allowedLayers, fittingLayer, incomingMaximum, outgoingBitrates, sendLimit } from './bandwidth.js'
import { ReceiverMaxima } from './receiver-maxima.js'

const limits = (values: object) => ({ maxSendKbps: 0, minSendKbps: 0, maxRecvKbps: 0, minRecvKbps: 0, ...values })

describe('what a participant may send', () => {
  test.each<[string, number, Parameters<typeof incomingMaximum>[1], number]>([
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

describe('what the receivers of a stream allow its publisher', () => {
  test('is the lowest maximum that any of them has', () => {
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

  test.each([
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

describe('what is sent to a participant', () => {
  test('has a floor that does not grow with its streams and never lies above the maximum', () => {
    const both = limits({ maxRecvKbps: 400, minRecvKbps: 300 })
    expect(outgoingBitrates(both, { audio: 0, video: 3 })).toEqual({ max: 1_200_000, min: 300_000 })
    expect(outgoingBitrates(limits({ maxRecvKbps: 200, minRecvKbps: 300 }), { audio: 0, video: 1 })).toEqual({
      max: 200_000,
      min: 200_000,
    })
    expect(outgoingBitrates(limits({ minRecvKbps: 300 }), { audio: 1, video: 1 })).toEqual({ max: 0, min: 300_000 })
    expect(outgoingBitrates(limits({}), { audio: 1, video: 1 })).toEqual({ max: 0, min: 0 })
  })
})

describe('the layer to begin with', () => {
  const layers = [{ maxBitrate: 100_000 }, { maxBitrate: 300_000 }, { maxBitrate: 900_000 }]

  test('is the highest that fits the limit of one stream', () => {
    expect(fittingLayer(layers, 1_000)).toBeUndefined()
    expect(fittingLayer(layers, 900)).toBeUndefined()
    expect(fittingLayer(layers, 899)).toBe(1)
    expect(fittingLayer(layers, 100)).toBe(0)
    expect(fittingLayer(layers, 50)).toBe(0)
  })

  test('is left open without a limit, without simulcast, and when the publisher says nothing of bit rates', () => {
    expect(fittingLayer(layers, 0)).toBeUndefined()
    expect(fittingLayer([{ maxBitrate: 900_000 }], 100)).toBeUndefined()
    expect(fittingLayer([{}, {}, {}], 100)).toBeUndefined()
  })

  test('bounds what a subscriber asks for', () => {
    expect(allowedLayers({ spatialLayer: 2, temporalLayer: 1 }, 1)).toEqual({ spatialLayer: 1, temporalLayer: 1 })
    expect(allowedLayers({ spatialLayer: 0 }, 1)).toEqual({ spatialLayer: 0 })
    expect(allowedLayers({ spatialLayer: 2 }, undefined)).toEqual({ spatialLayer: 2 })
  })
})
