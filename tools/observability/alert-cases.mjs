/**
 * For each alert the series with which it fires after ten minutes, the labels of its alerts, and the series with which it
 * does not. Samples are one minute apart unless the case has an `interval`: `0+3x20` starts with 0 and grows by 3.
 */
const node = 'cluster="main",instance="node:4481"'
const master = 'cluster="main",instance="master:4480"'
const CLUSTER = { cluster: 'main' }
const NODE = { cluster: 'main', instance: 'node:4481' }
const MASTER = { cluster: 'main', instance: 'master:4480' }
const second = 'cluster="second",instance="master2:4480"'
const up = (program, labels) => `up{job="session-service-${program}",${labels}}`
const s = (name, labels = master) => `session_service_${name}{${labels}}`

/** A case whose values alone differ: `{ series: [firing, quiet] }`. */
const values = (labels, series) => {
  const pick = (index) => Object.fromEntries(Object.entries(series).map(([name, each]) => [name, each[index]]))
  return { labels, fires: pick(0), quiet: pick(1) }
}
const gauge = (labels, name, fires, quiet) => values(labels, { [name]: [`${fires}x20`, `${quiet}x20`] })

const failed = (reason) => s('join_failures_total', `${master},reason="${reason}"`)
const joined = s('join_step_seconds_count', `${master},step="total"`)
const joinBucket = (le) => s('join_step_seconds_bucket', `${master},step="total",le="${le}"`)
const requests = (status) => s('http_request_seconds_count', `${master},status="${status}"`)
const nodes = s('cluster_media_nodes', `${master},status="running"`)
const lost = s('cluster_media_nodes', `${master},status="lost"`)
const draining = s('cluster_media_nodes', `${master},status="waiting-idle-to-terminate"`)
const queue = (name) => s('cluster_queue_age_seconds', `${master},queue="${name}"`)
const slots = (state) => s('cluster_slots', `${master},kind="recording",state="${state}"`)
const lossBucket = (le) => s('media_loss_ratio_bucket', `${node},direction="out",le="${le}"`)
const losses = s('media_loss_ratio_count', `${node},direction="out"`)
const disk = (what) => s(`machine_recording_disk_${what}_bytes`, node)

export const ALERT_CASES = {
  SessionServiceTargetDown: values(
    { job: 'session-service-media-node', ...NODE },
    {
      [up('media-node', node)]: ['0x20', '1x20'],
      'up{job="another-program",instance="x:1"}': ['0x20', '0x20'],
    },
  ),
  SessionServiceNoMaster: [
    { labels: {}, fires: {}, quiet: { [s('client_sockets')]: '0x20' } },
    // One of two clusters.
    values(
      { cluster: 'second' },
      {
        [up('master', master)]: ['1x20', '1x20'],
        [s('client_sockets')]: ['0x20', '0x20'],
        [up('master', second)]: ['0x20', '1x20'],
        [up('media-node', 'cluster="second",instance="node2:4481"')]: ['1x20', '1x20'],
        [s('client_sockets', second)]: ['_x20', '0x20'],
      },
    ),
  ],
  SessionServiceNoLeader: {
    labels: CLUSTER,
    fires: { [s('database_pool_size')]: '16x20' },
    quiet: { [s('database_pool_size')]: '16x20', [s('cluster_sessions', `${master},placed="yes"`)]: '0x20' },
  },
  SessionServiceNoMediaNode: [
    values(CLUSTER, { [nodes]: ['0x20', '1x20'], [draining]: ['2x20', '0x20'], [lost]: ['2x20', '2x20'] }),
    values(CLUSTER, { [nodes]: ['1x20', '1x20'], [s('media_workers_usable', node)]: ['0x20', '1x20'] }),
  ],
  SessionServiceClusterNearlyFull: gauge(CLUSTER, s('cluster_capacity_used_ratio'), 0.81, 0.79),
  SessionServicePlacementFailures: values(CLUSTER, {
    [s('placements_total', `${master},outcome="none"`)]: ['0+1x20', '7x20'],
    [s('placements_total', `${master},outcome="placed"`)]: ['0+1x20', '0+9x20'],
  }),
  SessionServiceMediaNodeLost: [
    values(CLUSTER, {
      [s('sessions_moved_total', `${master},reason="nodeCrashed"`)]: ['0x12 3x8', '3x20'],
      [s('sessions_moved_total', `${master},reason="mediaServerDisconnect"`)]: ['0x20', '0+1x20'],
    }),
    // A node without sessions, or sessions that end with their node.
    values(CLUSTER, {
      [s('media_nodes_lost_total', `${master},detected_by="end"`)]: ['0x12 1x8', '1x20'],
      [s('sessions_moved_total', `${master},reason="nodeCrashed"`)]: ['0x20', '0x20'],
    }),
  ],
  SessionServiceReconcilerRepairs: [
    values(CLUSTER, {
      [s('reconciler_repairs_total', `${master},kind="stream"`)]: ['0+1x20', '0x20'],
      [s('reconciler_repairs_total', `${master},kind="participant"`)]: ['0x20', '0+9x20'],
    }),
    // After the loss of a node.
    values(CLUSTER, { [s('reconciler_repairs_total', `${master},kind="camera"`)]: ['0+1x20', '0x15 40x5'] }),
  ],
  SessionServiceMediaNodeCrashLoop: [
    values(CLUSTER, { [s('media_nodes_backed_off')]: ['0x11 1 0x7', '0x4 1 0x14'] }),
    // A node that is lost again and again.
    values(CLUSTER, { [s('media_nodes_backed_off')]: ['0x9 1 0 1 0 1 0 1 0 1 0', '0x20'] }),
  ],
  SessionServiceJoinFailures: [
    values(CLUSTER, { [failed('NO_CAPACITY')]: ['0+3x20', '0+1x20'], [joined]: ['0+97x20', '0+99x20'] }),
    // Wrong tokens are no failures of the service.
    values(CLUSTER, {
      [failed('INTERNAL')]: ['0+9x20', '0x20'],
      [failed('UNAUTHENTICATED')]: ['0x20', '0+500x20'],
      [joined]: ['0x20', '0+9x20'],
    }),
  ],
  SessionServiceSlowJoins: values(CLUSTER, {
    [joinBucket('2')]: ['0+80x30', '0+99x30'],
    [joinBucket('5')]: ['0+100x30', '0+100x30'],
    [joinBucket('+Inf')]: ['0+100x30', '0+100x30'],
  }),
  SessionServiceServerErrors: values(CLUSTER, {
    [requests('5xx')]: ['0+6x20', '0+4x20'],
    [requests('refused')]: ['0x20', '0+20x20'],
    [requests('2xx')]: ['0+94x20', '0+76x20'],
  }),
  SessionServiceDatabaseUnreachable: ['connection', 'resources'].map((name) =>
    values(MASTER, {
      [s('database_errors_total', `${master},class="${name}"`)]: ['0+5x20', '5x20'],
      [s('database_errors_total', `${master},class="constraint"`)]: ['0x20', '0+5x20'],
    }),
  ),
  SessionServiceDatabasePoolExhausted: gauge(
    { ...MASTER, state: 'waiting' },
    s('database_connections', `${master},state="waiting"`),
    6,
    5,
  ),
  SessionServiceBusUnreachable: gauge(NODE, s('bus_connected', node), 0, 1),
  SessionServiceWebhookUndelivered: values(CLUSTER, {
    [queue('webhook')]: ['61x20', '59x20'],
    [queue('cdr')]: ['0x20', '900x20'],
  }),
  SessionServiceWebhookDead: gauge(CLUSTER, s('webhook_dead'), 1, 0),
  SessionServiceQueueDelayed: values(
    { ...CLUSTER, queue: 'cdr' },
    {
      [queue('cdr')]: ['301x20', '299x20'],
      [queue('eviction')]: ['0x20', '0x20'],
      [queue('webhook')]: ['900x20', '900x20'],
      [queue('finalizing')]: ['900x20', '900x20'],
    },
  ),
  SessionServiceConfigurationRolledBack: values(CLUSTER, {
    [s('configuration_rollbacks_total')]: ['0x5 1x15', '1x20'],
  }),
  SessionServiceWorkerDeaths: values(NODE, { [s('media_worker_deaths_total', node)]: ['0x5 4x15', '0x5 3x15'] }),
  SessionServiceWorkerCrashLoop: [
    gauge(NODE, s('media_workers_usable', node), 0, 1),
    // A loop of 35 s, and a worker that is replaced.
    { interval: '15s', ...values(NODE, { [s('media_workers_usable', node)]: ['1x73 0x1 1', '1x74 0 1'] }) },
  ],
  SessionServiceNodeFenced: gauge(NODE, s('fenced', node), 1, 0),
  SessionServiceAddressUnknown: gauge(NODE, s('announced_address_known', node), 0, 1),
  SessionServiceDrainOverdue: [
    values(NODE, {
      [s('draining', node)]: ['1x20', '1x20'],
      [s('drain_remaining_seconds', node)]: ['0x20', '900x20'],
    }),
    // A node that does not drain has no time left either.
    values(NODE, {
      [s('draining', node)]: ['1x20', '0x20'],
      [s('drain_remaining_seconds', node)]: ['0x20', '0x20'],
    }),
  ],
  SessionServiceReceiverLoss: values(NODE, {
    [lossBucket('0.05')]: ['0+70x30', '0+90x30'],
    [lossBucket('+Inf')]: ['0+100x30', '0+100x30'],
    [losses]: ['0+100x30', '0+100x30'],
  }),
  SessionServiceFrozenVideo: values(CLUSTER, {
    [s('client_frozen_seconds_total')]: ['0+6x30', '0+4x30'],
    [s('client_video_seconds_total')]: ['0+100x30', '0+100x30'],
  }),
  SessionServiceRecordingStalled: [
    // A program that does not end.
    gauge(NODE, s('recording_fragment_age_seconds', node), 11, 9),
    // The last of five short parts has ended the recording.
    values(NODE, {
      [s('recording_fragment_age_seconds', node)]: ['0x20', '0x20'],
      [s('job_stalls_total', `${node},program="compositor"`)]: ['0x16 5x4', '0x16 1x4'],
      [s('job_stalls_total', `${node},program="stream_recorder"`)]: ['0x20', '0x15 1x5'],
    }),
  ],
  SessionServiceRecordingsFailed: values(CLUSTER, {
    [s('recordings_finished_total', `${master},result="failed"`)]: ['0x5 1x15', '1x20'],
    [s('recordings_finished_total', `${master},result="ready"`)]: ['0x20', '0+1x20'],
  }),
  SessionServiceRecordingPartsFailed: values(NODE, {
    [s('recordings_ended_total', `${node},result="not_started"`)]: ['0x5 4x15', '0x5 1x15'],
    [s('recordings_ended_total', `${node},result="stopped"`)]: ['0x20', '0+1x20'],
    [s('recordings_ended_total', `${node},result="drained"`)]: ['0x20', '0x5 9x15'],
  }),
  SessionServiceRecordingsWaiting: gauge(CLUSTER, queue('finalizing'), 1801, 1799),
  SessionServiceRecordingStorageFailures: values(CLUSTER, {
    [s('recording_storage_failures_total')]: ['0x5 1x15', '1x20'],
  }),
  SessionServiceRecordingSlotsUsed: [
    values(CLUSTER, { [slots('used')]: ['10x20', '8x20'], [slots('total')]: ['10x20', '10x20'] }),
    // Nodes without recording have no slots.
    values(CLUSTER, { [slots('used')]: ['2x20', '0x20'], [slots('total')]: ['2x20', '0x20'] }),
  ],
  SessionServiceDiskLow: [
    // The default volume of a media node in the chart, after a first recording and when it is nearly full.
    values(NODE, { [disk('free')]: ['1e9x20', '9e9x20'], [disk('size')]: ['10.7e9x20', '10.7e9x20'] }),
    values(NODE, { [disk('free')]: ['99e9x20', '101e9x20'], [disk('size')]: ['1e12x20', '1e12x20'] }),
  ],
  SessionServiceDiskFull: values(NODE, {
    [disk('free')]: ['5e9x20', '5e9x20'],
    [disk('min_free')]: ['5e9x20', '4e9x20'],
  }),
  SessionServiceEventLoopLag: gauge(NODE, s('eventloop_lag_seconds', node), 0.6, 0.4),
  SessionServiceMachineBusy: gauge(NODE, s('machine_cpu_ratio', node), 0.95, 0.85),
  SessionServiceMemoryLow: gauge(NODE, s('machine_memory_used_ratio', node), 0.95, 0.9),
}
