import { dashboard, graph, row, stat } from '../grafana.mjs'
import { ofCluster, quantileBy, quantiles, sumOfRates } from '../queries.mjs'

const NOW = [
  stat(
    'Sessions',
    'Sessions of the cluster.',
    { unit: 'short' },
    { [ofCluster('session_service_cluster_sessions')]: '' },
  ),
  stat(
    'Participants',
    'Active connections, without recorders.',
    { unit: 'short' },
    { [`${ofCluster('session_service_cluster_connections{status="active"}')} or vector(0)`]: '' },
  ),
  stat('Streams', 'Published streams.', { unit: 'short' }, { [ofCluster('session_service_cluster_streams')]: '' }),
  stat(
    'Recordings',
    'Recordings that are starting or running.',
    { unit: 'short' },
    { [ofCluster('session_service_cluster_recordings{status=~"starting|started"}')]: '' },
  ),
  stat(
    'Media nodes',
    'Media nodes that run and accept sessions.',
    { unit: 'short' },
    { [ofCluster('session_service_cluster_media_nodes{status="running"}')]: '' },
  ),
  stat(
    'Used capacity',
    'Used share of the scarcest resource, averaged over the nodes; the fullest cluster.',
    { unit: 'percentunit', max: 1, warn: 0.7, bad: 0.8 },
    { 'max(session_service_cluster_capacity_used_ratio)': '' },
  ),
]

const USE = [
  graph(
    'Sessions',
    'Sessions by whether they have a media node. Sessions without one have no participants, or wait for a node.',
    { unit: 'short', isStacked: true },
    { [ofCluster('session_service_cluster_sessions', 'placed')]: 'placed: {{placed}}' },
  ),
  graph(
    'Connections',
    'Connections by type and status: pending have not joined, hidden are recorders, awaited are recorders and cameras that start.',
    { unit: 'short', isStacked: true },
    { [ofCluster('session_service_cluster_connections', 'type, status')]: '{{type}} {{status}}' },
  ),
  graph(
    'Streams',
    'Published streams by their tracks.',
    { unit: 'short', isStacked: true },
    { [ofCluster('session_service_cluster_streams', 'kind')]: '{{kind}}' },
  ),
  graph(
    'Recordings and cameras',
    'Recordings that are starting, running or waiting for their file, and cameras on the network.',
    { unit: 'short' },
    {
      [ofCluster('session_service_cluster_recordings{status=~"starting|started|stopped"}', 'status')]:
        'recordings {{status}}',
      [ofCluster('session_service_cluster_cameras', 'status')]: 'cameras {{status}}',
    },
  ),
]

const NODES = [
  graph(
    'Media nodes',
    'Media nodes by status, lost are running ones without heartbeats, and how many carry the present use.',
    { unit: 'short' },
    {
      [ofCluster('session_service_cluster_media_nodes', 'status')]: '{{status}}',
      [ofCluster('session_service_cluster_media_nodes_needed')]: 'needed',
      [ofCluster('session_service_media_nodes_backed_off')]: 'backed off',
    },
  ),
  graph(
    'Used capacity of nodes',
    'Used share of the scarcest resource of each node; 1 is full.',
    { unit: 'percentunit', max: 1 },
    { session_service_capacity_used_ratio: '{{instance}}' },
  ),
  graph(
    'Moved sessions',
    'Sessions that were moved after a loss of their node or worker, in each minute.',
    { unit: 'short' },
    { [`60 * ${sumOfRates('session_service_sessions_moved_total', 'reason')}`]: '{{reason}}' },
  ),
  graph(
    'Autoscaling',
    'Actions of autoscaling in each minute, and sessions on draining nodes.',
    { unit: 'short' },
    {
      [`60 * ${sumOfRates('session_service_autoscaling_actions_total', 'kind')}`]: '{{kind}}',
      [ofCluster('session_service_draining_sessions')]: 'draining sessions',
    },
  ),
]

const JOINS = [
  graph(
    'Joins',
    'Successful and failed joins in each second.',
    { unit: 'ops' },
    {
      [sumOfRates('session_service_join_step_seconds_count{step="total"}')]: 'successful',
      [sumOfRates('session_service_join_failures_total')]: 'failed',
    },
  ),
  graph(
    'Failed joins by reason',
    'UNAUTHENTICATED is a wrong token, NO_CAPACITY a lack of media nodes, INTERNAL a fault of the service.',
    { unit: 'ops', isStacked: true },
    { [sumOfRates('session_service_join_failures_total', 'reason')]: '{{reason}}' },
  ),
  graph(
    'Join time on masters',
    'Time of the whole call join.',
    { unit: 's' },
    quantiles('session_service_join_step_seconds', '{step="total"}'),
  ),
  graph(
    'Steps of joins on masters, p95',
    'The token and the answer are the database, the media node is its last command, placement includes failed attempts.',
    { unit: 's' },
    { [quantileBy(0.95, 'session_service_join_step_seconds', 'step')]: '{{step}}' },
  ),
]

const HEALTH = [
  graph(
    'Targets',
    'Masters and media nodes whose metrics Prometheus can read.',
    { unit: 'short' },
    {
      'count(session_service_client_sockets)': 'masters',
      'count(session_service_media_workers)': 'media nodes',
      'count(session_service_bus_connected == 1)': 'connected to the bus',
    },
  ),
  graph(
    'Oldest entries of queues',
    'Age of the oldest event to deliver, recording to finish, file to delete and participant to evict.',
    { unit: 's' },
    { 'max by (queue) (session_service_cluster_queue_age_seconds)': '{{queue}}' },
  ),
  graph(
    'Problems',
    'Deaths of workers, failed queries and errors of the bus in each second.',
    { unit: 'ops' },
    {
      [sumOfRates('session_service_media_worker_deaths_total')]: 'deaths of workers',
      [sumOfRates('session_service_database_errors_total{class!~"constraint|conflict"}')]: 'database',
      [sumOfRates('session_service_bus_problems_total')]: 'bus',
    },
  ),
  graph(
    'Event loop',
    'Longest delay of the event loop of each process in the last 5 to 10 s.',
    { unit: 's' },
    { session_service_eventloop_lag_seconds: '{{instance}}' },
  ),
]

export const overview = dashboard({
  uid: 'session-service-overview',
  title: 'Session Service / Overview',
  description: 'Use, capacity, joins and health of the clusters.',
  rows: [row('Now', NOW), row('Use', USE), row('Media nodes', NODES), row('Joins', JOINS), row('Health', HEALTH)],
})
