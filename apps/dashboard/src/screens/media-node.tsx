import type { VNode } from 'preact'
import type { NodeRow } from '@session-service/contract/dashboard'
import { useLive } from '../data/live.js'
import { route } from '../data/route.js'
import { countOf, formatBytes, formatNumber } from '../platform/format.js'
import { linkTo, pageOf } from '../platform/routes.js'
import { Facts, LoadBar, Panel, Time } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Pager } from '../ui/table.js'
import { NodeActions, NodeStatus, Slots } from './media-nodes.js'
import { SessionTable } from './session-table.js'

export function MediaNode({ id }: { id: string }): VNode {
  const page = pageOf(route.value.query)
  const state = useLive('media-node', { id, page })
  const node = state.failure?.status === 404 ? undefined : state.data?.node
  return (
    <Screen
      title={id}
      parent={[linkTo('media-nodes'), 'Media nodes']}
      mark={node && <NodeStatus node={node} />}
      actions={node && <NodeActions node={node} />}
    >
      <WhenRead state={state}>
        {(view) => (
          <>
            <NodeFacts node={view.node} />
            <Panel title="Sessions" note={countOf(view.sessions.total, 'session')}>
              <SessionTable
                label="Sessions of the media node"
                rows={view.sessions.rows}
                isOfNode
                empty="Sessions that are placed on this media node appear here."
              />
              <Pager page={page} total={view.sessions.total} />
            </Panel>
          </>
        )}
      </WhenRead>
    </Screen>
  )
}

function NodeFacts({ node }: { node: NodeRow }): VNode {
  const { heartbeat } = node
  return (
    <Panel title="Media node">
      <Facts
        facts={[
          ['Load', <LoadBar key="load" value={node.load} label="Load" />],
          ['Address', [node.uri, node.ip].filter(Boolean).join(', ') || '–'],
          ['Launched', <Time key="launched" at={node.launchingTime} />],
          ...(heartbeat
            ? ([
                ['Version', heartbeat.version],
                ['Memory', formatBytes(heartbeat.memoryBytes)],
                ['Workers', formatNumber(heartbeat.workers)],
                ['Participants', formatNumber(heartbeat.participants)],
                ['Streams', `${formatNumber(heartbeat.streams)}, received ${formatNumber(heartbeat.consumers)} times`],
                ['IP cameras', formatNumber(heartbeat.cameras)],
                ['Recordings', formatNumber(heartbeat.recordings)],
                ['Slots in use', <Slots key="slots" heartbeat={heartbeat} />],
              ] as const)
            : []),
          ...(node.languageModels?.length
            ? ([
                ['Language models', node.languageModels.map(({ lang, status }) => `${lang} (${status})`).join(', ')],
              ] as const)
            : []),
        ]}
      />
    </Panel>
  )
}
