import { describe, expect, test } from '@jest/globals'
import { allowedLayers, fittingLayer, incomingMaximum, outgoingBitrates } from './bandwidth.js'

const limits = (values: object) => ({ maxSendKbps: 0, minSendKbps: 0, maxRecvKbps: 0, minRecvKbps: 0, ...values })

describe('what a participant may send', () => {
  test('is unconstrained at 0, else the limit times its video streams, and room for its audio', () => {
    expect(incomingMaximum(limits({}), { audio: 3, video: 3 })).toBe(0)
    expect(incomingMaximum(limits({ maxSendKbps: 1_000 }), { audio: 0, video: 0 })).toBe(1_000_000)
    expect(incomingMaximum(limits({ maxSendKbps: 1_000 }), { audio: 1, video: 1 })).toBe(1_064_000)
    expect(incomingMaximum(limits({ maxSendKbps: 1_000 }), { audio: 1, video: 2 })).toBe(2_064_000)
  })

  test('is never less than mediasoup takes', () => {
    expect(incomingMaximum(limits({ maxSendKbps: 1 }), { audio: 0, video: 1 })).toBe(30_000)
    expect(incomingMaximum(limits({ maxSendKbps: Number.MAX_SAFE_INTEGER }), { audio: 0, video: 1 })).toBe(1e9)
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
