import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { LiveViews } from '@session-service/contract/dashboard'
import { useLive } from '../data/live.js'
import { route, setQuery } from '../data/route.js'
import { Button } from '../ui/buttons.js'
import { SearchField } from '../ui/fields.js'
import { Screen, WhenRead } from '../ui/screen.js'
import { EventList } from './event-list.js'

type Rows = LiveViews['events']['rows']

export function Events(): VNode {
  const { search = '', name = '' } = route.value.query
  const state = useLive('events', { search, name })
  const [held, setHeld] = useState<Rows>()
  const rows = state.data?.rows ?? []
  const isFiltered = search !== '' || name !== ''
  return (
    <Screen
      title="Events"
      note="What backends receive, of the last hour, newest first."
      actions={
        <Button
          icon={held ? 'play' : 'pause'}
          label={held ? 'Go on' : 'Pause'}
          onClick={() => setHeld(held ? undefined : rows)}
        />
      }
    >
      <div class="filters">
        <SearchField
          label="Search sessions and payloads"
          value={search}
          onSearch={(text) => setQuery({ search: text })}
        />
        <SearchField label="Name of the event" value={name} onSearch={(text) => setQuery({ name: text })} />
      </div>
      <WhenRead state={state}>
        {(view) => (
          <div class="panel">
            <EventList
              rows={held ?? view.rows}
              empty={
                isFiltered ? 'No event of the last hour matches.' : 'Events appear here as soon as something happens.'
              }
            />
          </div>
        )}
      </WhenRead>
    </Screen>
  )
}
