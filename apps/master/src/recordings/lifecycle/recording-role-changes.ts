import { Injectable, Logger } from '@nestjs/common'
import { type ChangedRole, type RoleChangeHandler, RoleChangeHook } from '../../connections/role-change-hooks.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { type ReportedRecording, RecordingQueries } from '../repository/recording-queries.js'

/** Notifies participants of the recordings that their new role makes known or hides; clients ignore duplicates. */
@Injectable()
@RoleChangeHook()
export class RecordingRoleChanges implements RoleChangeHandler {
  readonly #logger = new Logger(RecordingRoleChanges.name)

  constructor(
    private readonly queries: RecordingQueries,
    private readonly broadcast: SessionBroadcast,
  ) {}

  async roleChanged({ roomId, connectionId, role, former }: ChangedRole): Promise<void> {
    if (this.queries.isNotified(role) === this.queries.isNotified(former.role)) return
    const notify = async (recordings: readonly ReportedRecording[], isNotified: boolean): Promise<void> => {
      const to = { to: [connectionId] }
      for (const { id, name, status, reason } of recordings) {
        if (!isNotified) this.broadcast.notify(roomId, { method: 'recordingStopped', params: { id, name, reason } }, to)
        else if (status === 'started')
          this.broadcast.notify(roomId, { method: 'recordingStarted', params: { id, name } }, to)
      }
      await this.broadcast.sent()
    }
    try {
      await this.queries.withReported({ roomId, connectionId }, notify)
    } catch (error) {
      this.#logger.warn(
        { err: error, connectionId },
        'notifying the participant of recordings after a role change failed',
      )
    }
  }
}
