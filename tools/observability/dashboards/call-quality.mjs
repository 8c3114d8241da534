import { dashboard, graph, row } from '../grafana.mjs'
import { quantileBy, quantiles, rate, sumOfRates } from '../queries.mjs'

const byTrack = 'direction, kind'
const TRACK = '{{direction}} {{kind}}'

const NETWORK = [
  graph(
    'Lost packets',
    'Share of the packets that the receiver missed, before their repair. A packet lost on the way in is also missing at subscribers.',
    { unit: 'percentunit' },
    {
      [`${sumOfRates('session_service_media_packets_lost_total', byTrack)} / (${sumOfRates('session_service_media_packets_total', byTrack)} + ${sumOfRates('session_service_media_packets_lost_total', byTrack)})`]:
        TRACK,
    },
  ),
  graph(
    'Tracks with more than 5 % loss',
    'Share of the samples of tracks with at least 25 packets.',
    { unit: 'percentunit', max: 1 },
    {
      [`1 - ${sumOfRates('session_service_media_loss_ratio_bucket{le="0.05"}', byTrack)} / ${sumOfRates('session_service_media_loss_ratio_count', byTrack)}`]:
        TRACK,
    },
  ),
  graph(
    'Lossy subscribers by node',
    'Share of the samples of tracks to subscribers with more than 5 % loss, over 5 minutes. One node alone points to its network.',
    { unit: 'percentunit', max: 1 },
    { 'session_service:lossy_receivers:ratio_rate5m': '{{instance}}' },
  ),
  graph(
    'Loss of tracks, p95',
    'Of twenty samples of tracks nineteen have less loss.',
    { unit: 'percentunit' },
    { [quantileBy(0.95, 'session_service_media_loss_ratio', byTrack)]: TRACK },
  ),
  graph(
    'Jitter, p95',
    'Interarrival jitter at the receiver.',
    { unit: 's' },
    { [quantileBy(0.95, 'session_service_media_jitter_seconds', byTrack)]: TRACK },
  ),
  graph(
    'Round-trip time',
    'Between node and clients, where RTCP measures it.',
    { unit: 's' },
    quantiles('session_service_media_round_trip_seconds'),
  ),
  graph(
    'Bitrate of transports',
    'Bitrate of one client in one direction: median and p95.',
    { unit: 'bps' },
    {
      [quantileBy(0.5, 'session_service_media_transport_bits_per_second', 'direction')]: '{{direction}} p50',
      [quantileBy(0.95, 'session_service_media_transport_bits_per_second', 'direction')]: '{{direction}} p95',
    },
  ),
  graph(
    'Network quality',
    'Changes of the network quality of publishers to each level in each minute; 5 is best (SERVICE_PRO_NETWORK_QUALITY).',
    { unit: 'short' },
    { [`60 * ${sumOfRates('session_service_network_quality_changes_total', 'level')}`]: 'level {{level}}' },
  ),
]

const REPAIR = [
  graph(
    'Requests to repeat packets (NACK)',
    'Of the receivers, in each second.',
    { unit: 'ops' },
    { [sumOfRates('session_service_media_nacks_total', byTrack)]: TRACK },
  ),
  graph(
    'Key frame requests',
    'PLI and FIR of the receivers in each second; the direction in is of the node.',
    { unit: 'ops' },
    {
      [sumOfRates('session_service_media_plis_total{kind="video"}', 'direction')]: '{{direction}} PLI',
      [sumOfRates('session_service_media_firs_total{kind="video"}', 'direction')]: '{{direction}} FIR',
    },
  ),
  graph(
    'Repeated packets',
    'In each second.',
    { unit: 'pps' },
    { [sumOfRates('session_service_media_packets_retransmitted_total', byTrack)]: TRACK },
  ),
  graph(
    'Lost and repaired packets',
    'In each second; what is lost and not repaired is heard and seen.',
    { unit: 'pps' },
    {
      [sumOfRates('session_service_media_packets_lost_total', 'direction')]: '{{direction}} lost',
      [sumOfRates('session_service_media_packets_repaired_total', 'direction')]: '{{direction}} repaired',
    },
  ),
]

const CLIENTS = [
  graph(
    'Frozen video',
    'Share of the time in which received videos stood still, as clients report it.',
    { unit: 'percentunit' },
    {
      [`${sumOfRates('session_service_client_frozen_seconds_total')} / ${sumOfRates('session_service_client_video_seconds_total')}`]:
        'frozen',
    },
  ),
  graph(
    'Freezes',
    'Freezes for each minute of received video.',
    { unit: 'short' },
    {
      [`60 * ${sumOfRates('session_service_client_freezes_total')} / ${sumOfRates('session_service_client_video_seconds_total')}`]:
        'freezes',
    },
  ),
  graph(
    'Frozen share of reports',
    'Median, p95 and p99 of the share of frozen time in a report.',
    { unit: 'percentunit' },
    quantiles('session_service_client_frozen_ratio'),
  ),
  graph(
    'Path of the media',
    'Clients that reported how they send their media: directly over UDP or TCP, or by a relay; in each minute.',
    { unit: 'short', isStacked: true },
    { [`60 * ${sumOfRates('session_service_client_transports_total', 'candidate')}`]: '{{candidate}}' },
  ),
  graph(
    'Steps of joins at clients, p95',
    'The open socket, the answer to join, ICE, and the time from the first subscription to its first frame.',
    { unit: 's' },
    { [quantileBy(0.95, 'session_service_client_join_step_seconds', 'step')]: '{{step}}' },
  ),
  graph(
    'Reports of clients',
    'Clients that reported their join, in each second.',
    { unit: 'ops' },
    { [`sum by (step) (${rate('session_service_client_join_step_seconds_count')})`]: '{{step}}' },
  ),
]

export const callQuality = dashboard({
  uid: 'session-service-call-quality',
  title: 'Session Service / Call quality',
  description: 'Network conditions of the media, repair of losses, and what clients experience.',
  instances: 'session_service_bus_connected',
  rows: [row('Network', NETWORK), row('Repair', REPAIR), row('Clients', CLIENTS)],
})
