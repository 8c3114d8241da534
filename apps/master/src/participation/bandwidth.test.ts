import { describe, expect, it } from '@jest/globals'
import { resolveLimits } from './bandwidth.js'

const properties = {
  SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: 1000,
  SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH: 300,
  SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: 900,
  SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: 200,
}

describe('resolveLimits', () => {
  it.each([
    [
      'uses the properties without options',
      null,
      { maxSendKbps: 900, minSendKbps: 200, maxRecvKbps: 1000, minRecvKbps: 300 },
    ],
    [
      'prefers an option to the property',
      { videoMaxSendBandwidth: 50 },
      { maxSendKbps: 50, minSendKbps: 200, maxRecvKbps: 1000, minRecvKbps: 300 },
    ],
    [
      'lets an option of 0 override the property',
      { videoMaxRecvBandwidth: 0 },
      { maxSendKbps: 900, minSendKbps: 200, maxRecvKbps: 0, minRecvKbps: 300 },
    ],
  ])('%s', (_, options, limits) => {
    expect(resolveLimits(options, properties)).toEqual(limits)
  })
})
