import type { VNode } from 'preact'
import type { HistorySessionDetailsView } from '@session-service/contract'
import { deleteEndedSession } from '../actions/others.js'
import { apiPath, may } from '../data/account.js'
import { useGet } from '../data/query.js'
import { countOf, formatBytes, formatDuration, spaced, words } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { Button } from '../ui/buttons.js'
import { Empty, Facts, Id, Loading, Panel, Problem, StatusBadge, Time } from '../ui/marks.js'
import { Screen } from '../ui/screen.js'
import { Table } from '../ui/table.js'
import { EndedConnection } from './ended-connection.js'

const toHistory = (): void => void (location.hash = linkTo('history'))

export function EndedSession({ id }: { id: string }): VNode {
  const { data, error } = useGet<HistorySessionDetailsView>(apiPath('history', 'sessions', id))
  return (
    <Screen
      title={data?.id ?? id}
      parent={[linkTo('history'), 'History']}
      note={data && `Ended: ${spaced(data.reason)}`}
      actions={
        data &&
        may('deleteHistory') && (
          <Button icon="trash" label="Delete" isDangerous onClick={() => deleteEndedSession(id, toHistory)} />
        )
      }
    >
      {error && <Problem>{error}</Problem>}
      {!data && !error && <Loading />}
      {data && <Panels view={data} />}
    </Screen>
  )
}

function Panels({ view }: { view: HistorySessionDetailsView }): VNode {
  return (
    <>
      <Panel title="Session">
        <Facts
          facts={[
            ['Use of the id', <Id key="unique">{view.uniqueSessionId}</Id>],
            ['Created', <Time key="created" at={view.createdAt} />],
            ['Ended', <Time key="ended" at={view.destroyedAt} />],
            ['Duration', formatDuration(view.duration)],
            ['Media node', view.mediaNodeId ?? '–'],
            ['Media mode', words(view.mediaMode ?? '–')],
            ['Recording mode', words(view.recordingMode ?? '–')],
            ['Connections', String(view.numberOfConnections)],
          ]}
        />
      </Panel>
      <Panel title="Users" note={String(view.users.numberOfElements)}>
        <Users users={view.users.content} />
      </Panel>
      <Panel title="Recordings">
        <Recordings rows={view.recordings.content} />
      </Panel>
    </>
  )
}

function Users({ users }: { users: HistorySessionDetailsView['users']['content'] }): VNode {
  if (users.length === 0) return <Empty>Users of the session would be here; no client joined it.</Empty>
  return (
    <ul class="list">
      {users.map((user) => (
        <li key={user.id} class="user">
          <p>
            <strong>{user.platform ?? 'Unknown platform'}</strong>{' '}
            <span class="note">
              {[user.location, countOf(user.connections.numberOfElements, 'connection')].filter(Boolean).join(' · ')}
            </span>
          </p>
          {user.connections.content.map((connection) => (
            <EndedConnection key={connection.connectionId} connection={connection} />
          ))}
        </li>
      ))}
    </ul>
  )
}

const Recordings = ({ rows }: { rows: HistorySessionDetailsView['recordings']['content'] }): VNode => (
  <Table
    label="Recordings of the ended session"
    rows={rows}
    keyOf={({ id }) => id}
    empty="Recordings of the session would be here; it was not recorded."
    columns={[
      {
        head: 'Recording',
        kind: 'main',
        cell: ({ id }) => (
          <a href={linkTo('recordings', '', { search: id })}>
            <Id>{id}</Id>
          </a>
        ),
      },
      { head: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
      { head: 'Reason', cell: ({ reason }) => (reason === undefined ? '–' : spaced(reason)) },
      { head: 'Duration', kind: 'number', cell: ({ duration }) => formatDuration(duration) },
      { head: 'Size', kind: 'number', cell: ({ size }) => formatBytes(size) },
    ]}
  />
)
