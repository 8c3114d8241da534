import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Module } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { registeredJobs } from '../platform/jobs/job-registry.js'
import { TranscriptReady } from './transcript-ready.service.js'

const ON = {
  ...{ SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: true, SERVICE_CDR: false },
  ...{ SERVICE_WEBHOOK: true, SERVICE_WEBHOOK_EVENTS: ['transcriptReady'] },
} as unknown as MasterConfig

let master: MasterDatabase
beforeAll(async () => {
  master = await openMasterDatabase()
})
afterAll(() => master.close())

/** Runs the jobs of a master with this configuration once. */
async function runJobs(config: MasterConfig): Promise<void> {
  @Module({
    imports: [DiscoveryModule],
    providers: [
      TranscriptReady,
      ClusterClock,
      { provide: EventLog, useValue: new EventLog(master.dataSource, config) },
      { provide: MASTER_CONFIG, useValue: config },
    ],
  })
  class TranscriptsModule {}
  const app = await NestFactory.createApplicationContext(TranscriptsModule, { logger: false })
  for (const { run } of registeredJobs(app.get(DiscoveryService), config)) {
    await run({ now: performance.now(), isStopping: () => false, assertLeader: () => Promise.resolve() })
  }
  await app.close()
}

it.each([
  ['without transcripts', { ...ON, SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: false }],
  ['without a webhook', { ...ON, SERVICE_WEBHOOK: false }],
  ['whose webhook does not get the event', { ...ON, SERVICE_WEBHOOK_EVENTS: [] }],
])(
  'a master %s forgets ended sessions that wait for transcriptReady, except those of the last minute',
  async (_, off) => {
    await master.database.query(
      `INSERT INTO ended_transcript VALUES ('old_1', now() - interval '2 minutes'), ('new_1', now())
     ON CONFLICT DO NOTHING`,
    )
    await runJobs(off)
    expect(await master.database.query('SELECT unique_session_id AS id FROM ended_transcript')).toEqual([
      { id: 'new_1' },
    ])
  },
)
