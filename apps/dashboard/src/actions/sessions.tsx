import type { ParticipantRow } from '@session-service/contract/dashboard'
import { apiPath, request } from '../data/account.js'
import { fieldOf, openDialog } from '../data/dialog.js'
import { succeed } from '../data/toasts.js'
import { Select, TextField } from '../ui/fields.js'
import { Id } from '../ui/marks.js'

export function endSession(id: string): void {
  openDialog({
    title: 'End session',
    body: (
      <p>
        All participants of <Id>{id}</Id> leave, and its recordings stop.
      </p>
    ),
    confirm: 'End session',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('sessions', id))
      succeed(`The session ${id} has ended`)
    },
  })
}

export function evict({ sessionId, id, type }: ParticipantRow): void {
  openDialog({
    title: type === 'IPCAM' ? 'Remove camera' : 'Evict participant',
    body: (
      <p>
        <Id>{id}</Id> leaves the session <Id>{sessionId}</Id>. Its streams end.
      </p>
    ),
    confirm: type === 'IPCAM' ? 'Remove camera' : 'Evict',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('sessions', sessionId, 'connection', id))
      succeed(`${id} has left the session`)
    },
  })
}

export function unpublish(sessionId: string, connectionId: string, streamId: string): void {
  openDialog({
    title: 'Unpublish stream',
    body: (
      <p>
        The stream <Id>{streamId}</Id> of <Id>{connectionId}</Id> ends for all participants.
      </p>
    ),
    confirm: 'Unpublish',
    isDangerous: true,
    run: async () => {
      await request('DELETE', apiPath('sessions', sessionId, 'stream', streamId))
      succeed(`The stream ${streamId} has ended`)
    },
  })
}

const ROLES = [
  ['SUBSCRIBER', 'Subscriber'],
  ['PUBLISHER', 'Publisher'],
  ['MODERATOR', 'Moderator'],
] as const

export function changeRole({ sessionId, id, role }: ParticipantRow): void {
  openDialog({
    title: 'Change role',
    body: (
      <>
        <p>
          The role of <Id>{id}</Id> in the session <Id>{sessionId}</Id>.
        </p>
        <Select label="Role" name="role" value={role ?? 'PUBLISHER'} options={ROLES} />
      </>
    ),
    confirm: 'Change role',
    run: async (fields) => {
      await request('PATCH', apiPath('sessions', sessionId, 'connection', id), { role: fieldOf(fields, 'role') })
      succeed(`The role of ${id} has changed`)
    },
  })
}

const OUTPUT_MODES = [
  ['', 'As the session defines'],
  ['COMPOSED', 'One composed file'],
  ['COMPOSED_QUICK_START', 'One composed file, quick start'],
  ['INDIVIDUAL', 'One file per stream'],
] as const

export function startRecording(sessionId: string): void {
  openDialog({
    title: 'Start recording',
    body: (
      <>
        <p>
          Recording of the session <Id>{sessionId}</Id>. Other properties are the defaults of the session.
        </p>
        <TextField label="Name" name="name" note="Letters, digits, “-”, “_” and “~”; empty for the default" />
        <Select label="Output" name="outputMode" value="" options={OUTPUT_MODES} />
      </>
    ),
    confirm: 'Start recording',
    run: async (fields) => {
      const given = ['name', 'outputMode'].map((name) => [name, fieldOf(fields, name).trim()] as const)
      const options = Object.fromEntries(given.filter(([, value]) => value !== ''))
      await request('POST', apiPath('recordings', 'start'), { session: sessionId, ...options })
      succeed(`The recording of ${sessionId} has started`)
    },
  })
}
