import type { NodeRow } from '@session-service/contract/dashboard'
import { apiPath, request } from '../data/account.js'
import { fieldOf, openDialog } from '../data/dialog.js'
import { succeed } from '../data/toasts.js'
import { countOf } from '../platform/format.js'
import { Select, TextField } from '../ui/fields.js'
import { Id } from '../ui/marks.js'

const setStatus = (id: string, status: string): Promise<unknown> =>
  request('PATCH', apiPath('media-nodes', id), { status })

export function drain({ id, sessionCount }: NodeRow): void {
  openDialog({
    title: 'Drain media node',
    body: (
      <p>
        <Id>{id}</Id> takes no new sessions, and ends with the last of its {countOf(sessionCount, 'session')}. You can
        undo this while it has sessions.
      </p>
    ),
    confirm: 'Drain',
    isDangerous: true,
    run: async () => {
      await setStatus(id, 'waiting-idle-to-terminate')
      succeed(`The media node ${id} drains`)
    },
  })
}

export const undoDrain = ({ id }: NodeRow): Promise<unknown> => setStatus(id, 'running')

const STRATEGIES = [
  ['if-no-sessions', 'Only if it has no sessions'],
  ['when-no-sessions', 'After its last session (drain)'],
  ['now', 'At once: its sessions move or end'],
] as const

export function removeNode({ id, sessionCount }: NodeRow): void {
  openDialog({
    title: 'Remove media node',
    body: (
      <>
        <p>
          <Id>{id}</Id> has {countOf(sessionCount, 'session')}.
        </p>
        <Select label="When" name="strategy" value="if-no-sessions" options={STRATEGIES} />
      </>
    ),
    confirm: 'Remove',
    isDangerous: true,
    run: async (fields) => {
      const strategy = encodeURIComponent(fieldOf(fields, 'strategy'))
      await request('DELETE', `${apiPath('media-nodes', id)}?deletion-strategy=${strategy}`)
      succeed(`The media node ${id} is being removed`)
    },
  })
}

export function addNode(): void {
  openDialog({
    title: 'Add media node',
    body: <TextField label="Address" name="uri" note="Of a running media node; empty where the service launches it" />,
    confirm: 'Add',
    run: async (fields) => {
      const uri = fieldOf(fields, 'uri').trim()
      await request('POST', apiPath('media-nodes'), uri === '' ? {} : { uri })
      succeed('The media node is added')
    },
  })
}
