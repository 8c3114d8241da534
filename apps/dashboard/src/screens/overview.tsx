import type { VNode } from 'preact'
import type { ClusterSummary, LiveViews } from '@session-service/contract/dashboard'
import { account } from '../data/account.js'
import { summary, useLive } from '../data/live.js'
import { countOf, formatNumber, words } from '../platform/format.js'
import { mayView } from '../platform/rights.js'
import { linkTo, screenOf } from '../platform/routes.js'
import { Icon } from '../ui/icon.js'
import { Empty, Id, LoadBar, Panel, StatusBadge } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { Sparkline } from '../ui/sparkline.js'
import { EventList } from './event-list.js'
import { SessionTable } from './session-table.js'

export function Overview(): VNode {
  const state = useLive('overview')
  const now = summary.value
  return (
    <Screen title="Overview" note={<Sentence />}>
      {now && <Problems problems={now.problems} />}
      {now && <Figures now={now} />}
      <WhenRead state={state}>{(view) => <Panels view={view} />}</WhenRead>
    </Screen>
  )
}

function Sentence(): VNode {
  const now = summary.value
  if (!now) return <>Reading the state of the service…</>
  const texts = {
    UP: now.problems.length > 0 ? 'The service works, and something needs attention.' : 'The service works.',
    UNSTABLE: 'The service works, and something needs attention.',
    DOWN: 'The service cannot host sessions.',
  }
  return <>{texts[now.status]}</>
}

function Problems({ problems }: { problems: ClusterSummary['problems'] }): VNode | null {
  if (problems.length === 0) return null
  const role = account.value?.credential.role ?? 'read-only'
  return (
    <section class="problems" aria-label="Problems">
      <h2>
        <Icon name="warning" />
        {countOf(problems.length, 'problem')}
      </h2>
      <ul>
        {problems.map(({ text, view }) => (
          <li key={text}>
            <span>{text}</span>
            {screenOf(view) !== 'overview' && mayView(role, screenOf(view)) && (
              <a class="chip text" href={linkTo(screenOf(view))} aria-label={`Show: ${text}`}>
                Show
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

const Figure = (props: { label: string; value: string; href?: string; series?: keyof ClusterSummary }): VNode => {
  const { label, value, href, series } = props
  const body = (
    <>
      <span class="label">{label}</span>
      <strong>{value}</strong>
      {series !== undefined && <Sparkline of={series} />}
    </>
  )
  return href === undefined ? (
    <div class="figure-card">{body}</div>
  ) : (
    <a class="figure-card" href={href}>
      {body}
    </a>
  )
}

function Figures({ now }: { now: ClusterSummary }): VNode {
  const role = account.value?.credential.role ?? 'read-only'
  const { sessions, participants, streams, recordings, mediaNodes } = now
  const nodes = `${formatNumber(mediaNodes.running)} / ${formatNumber(mediaNodes.total)}`
  return (
    <section class="figures" aria-label="Figures">
      <Figure label="Sessions" value={formatNumber(sessions)} href={linkTo('sessions')} series="sessions" />
      <Figure label="Participants" value={formatNumber(participants)} series="participants" />
      <Figure label="Streams" value={formatNumber(streams)} series="streams" />
      <Figure label="Active recordings" value={formatNumber(recordings)} href={linkTo('recordings')} />
      {mayView(role, 'media-nodes') ? (
        <Figure label="Media nodes" value={nodes} href={linkTo('media-nodes')} />
      ) : (
        <Figure label="Media nodes" value={nodes} />
      )}
    </section>
  )
}

type View = LiveViews['overview']

function Panels({ view }: { view: View }): VNode {
  const role = account.value?.credential.role ?? 'read-only'
  return (
    <div class="columns">
      <div>
        <Panel title="Busiest sessions" actions={<More href={linkTo('sessions', '', { sort: 'participants' })} />}>
          <SessionTable
            label="Busiest sessions"
            rows={view.busiest}
            isShort
            empty="The sessions with the most participants appear here once clients join."
          />
        </Panel>
        <Panel title="Latest events" actions={<More href={linkTo('events')} />}>
          <EventList rows={view.events} empty="Events of the last hour appear here, such as participants that join." />
        </Panel>
      </div>
      <div>
        {mayView(role, 'media-nodes') && (
          <Panel title="Media nodes" actions={<More href={linkTo('media-nodes')} />}>
            <Nodes nodes={view.nodes} />
          </Panel>
        )}
        {view.masters.length > 0 && (
          <Panel title="Masters">
            <Masters masters={view.masters} />
          </Panel>
        )}
        <Panel title="Recordings" actions={<More href={linkTo('recordings')} />}>
          <RecordingCounts counts={view.recordings} />
        </Panel>
      </div>
    </div>
  )
}

const More = ({ href }: { href: string }): VNode => (
  <a class="more" href={href}>
    Show all <Icon name="arrow" />
  </a>
)

function Nodes({ nodes }: { nodes: View['nodes'] }): VNode {
  if (nodes.length === 0) return <Empty>Media nodes appear here once one registers. Sessions need at least one.</Empty>
  return (
    <ul class="list">
      {nodes.map(({ id, load, status, connected, sessionCount }) => (
        <li key={id} class="node-line">
          <a class="strong" href={linkTo('media-node', id)}>
            <Id>{id}</Id>
          </a>
          <span class="note">{countOf(sessionCount, 'session')}</span>
          {status === 'running' && connected ? (
            <LoadBar value={load} label={`Load of ${id}`} />
          ) : (
            <StatusBadge status={connected || status !== 'running' ? status : 'disconnected'} />
          )}
        </li>
      ))}
    </ul>
  )
}

const Masters = ({ masters }: { masters: View['masters'] }): VNode => (
  <ul class="list">
    {masters.map(({ id, uri, status }) => (
      <li key={id} class="line">
        <span class="stack">
          <Id>{id}</Id>
          <span class="note">{uri}</span>
        </span>
        <StatusBadge status={status} />
      </li>
    ))}
  </ul>
)

function RecordingCounts({ counts }: { counts: View['recordings'] }): VNode {
  if (counts.length === 0) return <Empty>The number of recordings of each status appears here.</Empty>
  return (
    <ul class="list">
      {counts.map(({ status, count }) => (
        <li key={status} class="line">
          <a class="strong" href={linkTo('recordings', '', { status })}>
            {words(status)}
          </a>
          <span class="figure">{formatNumber(count)}</span>
        </li>
      ))}
    </ul>
  )
}
