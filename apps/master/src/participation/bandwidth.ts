import type { BandwidthLimits, MediaserverOptions } from '@session-service/contract'
import type { MasterConfig } from '../platform/config/configuration.module.js'

type BandwidthProperties = Pick<
  MasterConfig,
  | 'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH'
  | 'SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH'
  | 'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH'
  | 'SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH'
>

/**
 * The limits of one connection: its own option, else the global property; 0 means unlimited. As in the contract, "recv"
 * is per subscribed stream and "send" per published stream, from the participant's view.
 */
export const resolveLimits = (options: MediaserverOptions | null, config: BandwidthProperties): BandwidthLimits => ({
  maxSendKbps: options?.videoMaxSendBandwidth ?? config.SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH,
  minSendKbps: options?.videoMinSendBandwidth ?? config.SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH,
  maxRecvKbps: options?.videoMaxRecvBandwidth ?? config.SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH,
  minRecvKbps: options?.videoMinRecvBandwidth ?? config.SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH,
})
