import { dashboard, graph, row } from '../grafana.mjs'
import { quantileBy, quantiles, rate, sumOfRates } from '../queries.mjs'

const REQUESTS = 'session_service_http_request_seconds'
/** A metric of Node.js, of masters alone. */
const ofMasters = (expr) => `${expr} and on (instance, job) session_service_client_sockets`

const REST = [
  graph(
    'Requests',
    'REST requests in each second by status.',
    { unit: 'reqps', isStacked: true },
    { [sumOfRates(`${REQUESTS}_count`, 'status')]: '{{status}}' },
  ),
  graph('Latency', 'Time to the end of the response.', { unit: 's' }, quantiles(REQUESTS)),
  graph(
    'Requests by route',
    'In each second.',
    { unit: 'reqps' },
    { [sumOfRates(`${REQUESTS}_count`, 'method, route')]: '{{method}} {{route}}' },
  ),
  graph(
    'Latency by route, p95',
    'Time to the end of the response.',
    { unit: 's' },
    { [quantileBy(0.95, REQUESTS, 'method, route')]: '{{method}} {{route}}' },
  ),
  graph(
    'Errors by route',
    'Answers with 4xx and 5xx in each second, refused are 501 and cameras that cannot be read; 0 in total while there is none.',
    { unit: 'reqps' },
    {
      [`${sumOfRates(`${REQUESTS}_count{status=~"4xx|5xx|refused"}`, 'method, route, status')} or 0 * ${sumOfRates(`${REQUESTS}_count`)}`]:
        '{{method}} {{route}} {{status}}',
    },
  ),
  graph(
    'Share of 5xx',
    'Of all requests, without refused ones.',
    { unit: 'percentunit', max: 1 },
    {
      [`(${sumOfRates(`${REQUESTS}_count{status="5xx"}`)} or 0 * ${sumOfRates(`${REQUESTS}_count`)}) / ${sumOfRates(`${REQUESTS}_count`)}`]:
        '5xx',
    },
  ),
]

const LIMITS = [
  graph(
    'Wrong credentials',
    'Requests with wrong credentials in each second.',
    { unit: 'ops' },
    { [sumOfRates('session_service_authentication_failures_total')]: 'wrong credentials' },
  ),
  graph(
    'Refusals of signalling',
    'Frames, joins and sockets of clients beyond a limit, and signals beyond the budget of their sender.',
    { unit: 'ops' },
    {
      [sumOfRates('session_service_signalling_refusals_total', 'limit')]: '{{limit}}',
      [sumOfRates('session_service_signals_rate_limited_total')]: 'signals',
    },
  ),
  graph(
    'Sockets of clients',
    'Open sockets of each master.',
    { unit: 'short' },
    { session_service_client_sockets: '{{instance}}' },
  ),
  graph(
    'CPU of masters',
    'Cores that each master uses.',
    { unit: 'short' },
    { [ofMasters(rate('process_cpu_seconds_total'))]: '{{instance}}' },
  ),
  graph(
    'Memory of masters',
    'Resident memory of each master.',
    { unit: 'bytes' },
    { [ofMasters('process_resident_memory_bytes')]: '{{instance}}' },
  ),
  graph(
    'Event loop',
    'Longest delay of the event loop in the last 5 to 10 s.',
    { unit: 's' },
    { session_service_eventloop_lag_seconds: '{{instance}}' },
  ),
]

const DATABASE = [
  graph(
    'Connections to the database',
    'Used and idle connections, and requests that wait for one.',
    { unit: 'short', isStacked: true },
    {
      'sum by (state) (session_service_database_connections)': '{{state}}',
      'sum(session_service_database_pool_size)': 'pool',
    },
  ),
  graph(
    'Errors of the database',
    'Failed queries in each second by class. Constraints and conflicts are part of the operation.',
    { unit: 'ops' },
    { [sumOfRates('session_service_database_errors_total', 'class')]: '{{class}}' },
  ),
  graph(
    'Group commits, p95',
    'Duration by table.',
    { unit: 's' },
    { [quantileBy(0.95, 'session_service_database_batch_seconds', 'table')]: '{{table}}' },
  ),
  graph(
    'Rows of a group commit',
    'Mean number of rows by table.',
    { unit: 'short' },
    {
      [`${sumOfRates('session_service_database_batch_items_sum', 'table')} / ${sumOfRates('session_service_database_batch_items_count', 'table')}`]:
        '{{table}}',
    },
  ),
]

const BUS = [
  graph(
    'Requests on the bus',
    'In each second by outcome: refused is an error as the answer, unavailable no receiver or no bus.',
    { unit: 'ops' },
    { [sumOfRates('session_service_bus_request_seconds_count', 'subject, outcome')]: '{{subject}} {{outcome}}' },
  ),
  graph(
    'Time of requests on the bus, p95',
    'Commands to nodes, reports to masters, and health of masters.',
    { unit: 's' },
    { [quantileBy(0.95, 'session_service_bus_request_seconds', 'subject')]: '{{subject}}' },
  ),
  graph(
    'Connection to the bus',
    '1 while connected, and reconnections in each minute.',
    { unit: 'short' },
    {
      session_service_bus_connected: '{{instance}}',
      [`60 * ${sumOfRates('session_service_bus_reconnects_total')}`]: 'reconnections',
    },
  ),
  graph(
    'Errors of the bus',
    'Errors without a caller in each second.',
    { unit: 'ops' },
    { [sumOfRates('session_service_bus_problems_total', 'kind')]: '{{kind}}' },
  ),
  graph(
    'Webhook',
    'Attempts in each second by outcome.',
    { unit: 'ops' },
    { [sumOfRates('session_service_webhook_attempts_total', 'outcome')]: '{{outcome}}' },
  ),
  graph(
    'Events',
    'Events that wait to be posted, and dead letters.',
    { unit: 'short' },
    {
      'max(session_service_webhook_pending)': 'pending',
      'max(session_service_webhook_dead)': 'dead letters',
    },
  ),
]

export const api = dashboard({
  uid: 'session-service-api',
  title: 'Session Service / API and masters',
  description: 'REST API, limits, database, bus and webhooks of the masters.',
  instances: 'session_service_client_sockets',
  rows: [
    row('REST', REST),
    row('Limits and processes', LIMITS),
    row('Database', DATABASE),
    row('Bus and webhooks', BUS),
  ],
})
