import type { DeadLetterRow, PropertyRow } from '@session-service/contract/dashboard'
import { apiPath, request } from '../data/account.js'
import { openDialog } from '../data/dialog.js'
import { succeed } from '../data/toasts.js'
import { countOf } from '../platform/format.js'
import { Id } from '../ui/marks.js'

const letters = (...parts: string[]): string => apiPath('webhook', 'dead-letters', ...parts)

export const replayLetter = ({ id }: DeadLetterRow): Promise<unknown> => request('POST', letters(id, 'replay'))

export function replayLetters(total: number): void {
  openDialog({
    title: 'Replay all dead letters',
    body: <p>The service posts {countOf(total, 'event')} to the webhook again.</p>,
    confirm: 'Replay all',
    run: async () => {
      const { replayed } = await request<{ replayed: number }>('POST', letters('replay'))
      succeed(`The service posts ${countOf(replayed, 'event')} again`)
    },
  })
}

export function deleteLetter({ id, name }: DeadLetterRow): void {
  openDialog({
    title: 'Delete dead letter',
    body: (
      <p>
        The event {name} (<Id>{id}</Id>) is deleted. The webhook never gets it.
      </p>
    ),
    confirm: 'Delete',
    isDangerous: true,
    run: async () => {
      await request('DELETE', letters(id))
      succeed('The dead letter is deleted')
    },
  })
}

export function deleteLetters(total: number): void {
  openDialog({
    title: 'Delete all dead letters',
    body: <p>{countOf(total, 'event')} are deleted. The webhook never gets them.</p>,
    confirm: 'Delete all',
    isDangerous: true,
    run: async () => {
      await request('DELETE', letters())
      succeed('All dead letters are deleted')
    },
  })
}

const RESTART = 'All masters restart to apply this: streams of the dashboard break for a moment, media goes on.'

export function dropOverride({ name, defaultValue }: PropertyRow): void {
  openDialog({
    title: 'Drop override',
    body: (
      <>
        <p>
          <Id>{name}</Id> takes its value of the environment again, or its default
          {defaultValue !== '' && (
            <>
              {' '}
              <code>{defaultValue}</code>
            </>
          )}
          .
        </p>
        <p class="warning">{RESTART}</p>
      </>
    ),
    confirm: 'Drop and restart',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('config', 'overrides', name))
      succeed(`The override of ${name} is dropped; masters restart`)
    },
  })
}

export function deleteEndedSession(uniqueSessionId: string, onDeleted: () => void): void {
  openDialog({
    title: 'Delete from the history',
    body: (
      <p>
        <Id>{uniqueSessionId}</Id> and all that the history has of it are deleted. Recordings stay.
      </p>
    ),
    confirm: 'Delete',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('history', 'sessions', uniqueSessionId))
      succeed(`${uniqueSessionId} is deleted from the history`)
      onDeleted()
    },
  })
}
