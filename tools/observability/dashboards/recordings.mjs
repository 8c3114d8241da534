import { dashboard, graph, row, stat } from '../grafana.mjs'
import { ofCluster, sumOfRates } from '../queries.mjs'

const slots = (state) => ofCluster(`session_service_cluster_slots{kind="recording",state="${state}"}`)
const countOf = (status) => ofCluster(`session_service_cluster_recordings{status="${status}"}`)
const increase = (series, by) => `sum by (${by}) (increase(${series}[1h]))`

const NOW = [
  stat('Running', 'Running recordings.', { unit: 'short' }, { [countOf('started')]: '' }),
  stat('Starting', 'Recordings that have written nothing yet.', { unit: 'short' }, { [countOf('starting')]: '' }),
  stat('Waiting', 'Stopped recordings that wait for their file.', { unit: 'short' }, { [countOf('stopped')]: '' }),
  stat('Failed', 'Recordings without a file.', { unit: 'short', warn: 1 }, { [countOf('failed')]: '' }),
  stat(
    'Used slots',
    'Used share of the recording slots of all nodes.',
    { unit: 'percentunit', max: 1, warn: 0.7, bad: 0.9 },
    { [`${slots('used')} / ${slots('total')}`]: '' },
  ),
  stat(
    'Longest wait',
    'Age of the oldest recording that waits for its file.',
    { unit: 's', warn: 600, bad: 1800 },
    { 'max(session_service_cluster_queue_age_seconds{queue="finalizing"})': '' },
  ),
]

const COURSE = [
  graph(
    'Recordings',
    'Recordings by status; ready and failed are counted every 5 minutes.',
    { unit: 'short' },
    { [ofCluster('session_service_cluster_recordings', 'status')]: '{{status}}' },
  ),
  graph(
    'Slots',
    'Used and existing recording slots of all nodes.',
    { unit: 'short' },
    { [ofCluster('session_service_cluster_slots{kind="recording"}', 'state')]: '{{state}}' },
  ),
  graph(
    'Recordings on nodes',
    'Running recordings, and ended ones whose files are being composed or delivered.',
    { unit: 'short' },
    {
      'sum by (instance) (session_service_recordings_running)': '{{instance}} running',
      'sum by (instance) (session_service_recordings_composing)': '{{instance}} composing',
      'sum by (instance) (session_service_recordings_delivering)': '{{instance}} delivering',
    },
  ),
  graph(
    'Oldest entries of queues',
    'Age of the oldest recording that waits for its file and upload, and of the oldest file to delete.',
    { unit: 's' },
    { 'max by (queue) (session_service_cluster_queue_age_seconds{queue=~"finalizing|removal"})': '{{queue}}' },
  ),
  graph(
    'Missing output',
    'Longest time for which a running recording program has written nothing although media arrived.',
    { unit: 's' },
    { 'max by (instance) (session_service_recording_fragment_age_seconds)': '{{instance}}' },
  ),
]

const FAILURES = [
  graph(
    'Finished recordings',
    'In the last hour, by result.',
    { unit: 'short' },
    { [increase('session_service_recordings_finished_total', 'result')]: '{{result}}' },
  ),
  graph(
    'Ended parts',
    'Parts of recordings that ended in the last hour on nodes, by result.',
    { unit: 'short' },
    { [increase('session_service_recordings_ended_total', 'result')]: '{{result}}' },
  ),
  graph(
    'Stalled programs',
    'Recording programs that nodes ended in the last hour because they stalled.',
    { unit: 'short' },
    { [increase('session_service_job_stalls_total', 'program')]: '{{program}}' },
  ),
  graph(
    'Failures of storage and subtitles',
    'Requests to the object storage that failed after all attempts, and recordings that lack subtitles, in each second.',
    { unit: 'ops' },
    {
      [sumOfRates('session_service_recording_storage_failures_total')]: 'storage',
      [sumOfRates('session_service_recording_subtitle_failures_total')]: 'subtitles',
    },
  ),
  graph(
    'Free space',
    'On the disk of recordings of each master and node.',
    { unit: 'bytes' },
    { session_service_machine_recording_disk_free_bytes: '{{instance}}' },
  ),
]

export const recordings = dashboard({
  uid: 'session-service-recordings',
  title: 'Session Service / Recordings',
  description: 'Running and waiting recordings, their failures and the storage.',
  rows: [row('Now', NOW), row('Course', COURSE), row('Failures and storage', FAILURES)],
})
