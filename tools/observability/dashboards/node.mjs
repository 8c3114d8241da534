import { dashboard, graph, row, stat, table } from '../grafana.mjs'
import { rate, sumOfRates } from '../queries.mjs'

/** A metric of Node.js, of media nodes alone. */
const ofNodes = (expr) => `${expr} and on (instance, job) session_service_media_workers`

const NOW = [
  stat(
    'Usable workers',
    'Workers of the chosen nodes that accept rooms.',
    { unit: 'short' },
    { 'sum(session_service_media_workers_usable)': '' },
  ),
  stat('Rooms', 'Rooms of the chosen nodes.', { unit: 'short' }, { 'sum(session_service_media_rooms)': '' }),
  stat(
    'Connections',
    'Connections in these rooms.',
    { unit: 'short' },
    { 'sum(session_service_media_connections)': '' },
  ),
  stat(
    'Used capacity',
    'The fullest of the chosen nodes.',
    { unit: 'percentunit', max: 1, warn: 0.7, bad: 0.85 },
    { 'max(session_service_capacity_used_ratio)': '' },
  ),
  stat('Draining', 'Chosen nodes that drain.', { unit: 'short', warn: 1 }, { 'sum(session_service_draining)': '' }),
  stat(
    'Fenced',
    'Chosen nodes that wait for a master to confirm their rooms.',
    { unit: 'short', bad: 1 },
    { 'sum(session_service_fenced)': '' },
  ),
]

const MACHINE = [
  graph(
    'CPU of the machine',
    'CPU load of the machine; in a container of the host.',
    { unit: 'percentunit', max: 1 },
    { session_service_machine_cpu_ratio: '{{instance}}' },
  ),
  graph(
    'CPU of the process',
    'Cores that the process of the node uses, without its workers and recording programs.',
    { unit: 'short' },
    { [ofNodes(rate('process_cpu_seconds_total'))]: '{{instance}}' },
  ),
  graph(
    'Memory',
    'Resident memory of the process, of the media workers and of language models.',
    { unit: 'bytes' },
    {
      [ofNodes('process_resident_memory_bytes')]: '{{instance}} process',
      session_service_media_worker_memory_bytes: '{{instance}} workers',
      session_service_speech_to_text_memory_bytes: '{{instance}} language models',
    },
  ),
  graph(
    'Memory of the machine',
    'Used memory without the page cache.',
    { unit: 'percentunit', max: 1 },
    { session_service_machine_memory_used_ratio: '{{instance}}' },
  ),
  graph(
    'Network of the machine',
    'Traffic of the machine without loopback. Nodes on one machine export the same traffic.',
    { unit: 'Bps' },
    { [rate('session_service_machine_network_bytes_total')]: '{{instance}} {{direction}}' },
  ),
  graph(
    'Event loop',
    'Longest delay of the event loop in the last 5 to 10 s.',
    { unit: 's' },
    { session_service_eventloop_lag_seconds: '{{instance}}' },
  ),
]

const MEDIA = [
  graph(
    'Workers',
    'Living workers, those that accept rooms, and deaths of workers in each minute.',
    { unit: 'short' },
    {
      session_service_media_workers: '{{instance}} living',
      session_service_media_workers_usable: '{{instance}} usable',
      [`60 * ${sumOfRates('session_service_media_worker_deaths_total', 'instance')}`]: '{{instance}} deaths',
    },
  ),
  graph(
    'Rooms and connections',
    'Rooms of the node and the connections in them.',
    { unit: 'short' },
    {
      session_service_media_rooms: '{{instance}} rooms',
      session_service_media_connections: '{{instance}} connections',
    },
  ),
  graph(
    'Tracks',
    'Tracks of publishers (in) and tracks to subscribers (out).',
    { unit: 'short', isStacked: true },
    { 'sum by (direction, kind) (session_service_media_tracks)': '{{direction}} {{kind}}' },
  ),
  graph(
    'Transports',
    'Transports of clients by direction and protocol; none is not connected.',
    { unit: 'short', isStacked: true },
    { 'sum by (direction, protocol) (session_service_media_transports)': '{{direction}} {{protocol}}' },
  ),
  graph(
    'Media bitrate',
    'Media from publishers (in) and to subscribers (out).',
    { unit: 'bps' },
    { [`8 * ${sumOfRates('session_service_media_bytes_total', 'instance, direction')}`]: '{{instance}} {{direction}}' },
  ),
  graph(
    'Additional media work',
    'Cameras that are read, filters of streams, videos that are transcoded, and streams whose speech is recognized.',
    { unit: 'short' },
    {
      'sum(session_service_media_cameras)': 'cameras',
      'sum(session_service_media_filters)': 'filters',
      'sum(session_service_media_transcodings)': 'transcodings',
      'sum(session_service_speech_to_text_streams)': 'speech to text',
    },
  ),
]

const COMMANDS = [
  graph(
    'Used capacity and drain',
    'Used share of the scarcest resource, and 1 while the node drains.',
    { unit: 'percentunit', max: 1 },
    {
      session_service_capacity_used_ratio: '{{instance}} used',
      session_service_draining: '{{instance}} draining',
    },
  ),
  graph(
    'Remaining time of drains',
    'Time until a draining node shuts down; 0 for nodes that do not drain.',
    { unit: 's' },
    { session_service_drain_remaining_seconds: '{{instance}}' },
  ),
  graph(
    'Commands of masters',
    'Commands in each second by outcome; other outcomes than OK are refusals and failures.',
    { unit: 'ops' },
    { [sumOfRates('session_service_node_command_duration_seconds_count', 'outcome')]: '{{outcome}}' },
  ),
  graph(
    'Time of commands, p95',
    'By command.',
    { unit: 's' },
    {
      [`histogram_quantile(0.95, sum by (command, le) (${rate('session_service_node_command_duration_seconds_bucket')}))`]:
        '{{command}}',
    },
  ),
  table(
    'Nodes',
    'The chosen nodes with their rooms.',
    { unit: 'short' },
    { 'sum by (cluster, instance) (session_service_media_rooms)': '' },
  ),
]

export const node = dashboard({
  uid: 'session-service-node',
  title: 'Session Service / Media nodes',
  description: 'Machine, workers, rooms, media and drain of each media node.',
  instances: 'session_service_media_workers',
  rows: [row('Now', NOW), row('Machine', MACHINE), row('Media', MEDIA), row('Capacity and commands', COMMANDS)],
})
