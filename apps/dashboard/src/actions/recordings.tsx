import type { RecordingRow } from '@session-service/contract/dashboard'
import { apiPath, request } from '../data/account.js'
import { openDialog } from '../data/dialog.js'
import { succeed } from '../data/toasts.js'
import { Id } from '../ui/marks.js'

export function stopRecording({ id, sessionId }: Pick<RecordingRow, 'id' | 'sessionId'>): void {
  openDialog({
    title: 'Stop recording',
    body: (
      <p>
        The recording <Id>{id}</Id> of the session <Id>{sessionId}</Id> stops. Its file is ready soon afterwards.
      </p>
    ),
    confirm: 'Stop recording',
    isDangerous: true,
    run: async () => {
      await request('POST', apiPath('recordings', 'stop', id))
      succeed(`The recording ${id} has stopped`)
    },
  })
}

export function deleteRecording({ id }: Pick<RecordingRow, 'id'>): void {
  openDialog({
    title: 'Delete recording',
    body: (
      <p>
        The recording <Id>{id}</Id> and its files are deleted. This cannot be undone.
      </p>
    ),
    confirm: 'Delete',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('recordings', id))
      succeed(`The recording ${id} is deleted`)
    },
  })
}
