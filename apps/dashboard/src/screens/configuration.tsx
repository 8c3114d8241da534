import type { VNode } from 'preact'
import type { PropertyRow } from '@session-service/contract/dashboard'
import { dropOverride } from '../actions/others.js'
import { may } from '../data/account.js'
import { useLive } from '../data/live.js'
import { route, setQuery } from '../data/route.js'
import { countOf } from '../platform/format.js'
import { selectProperties } from '../platform/properties.js'
import { Button } from '../ui/buttons.js'
import { SearchField, Select } from '../ui/fields.js'
import { Badge, Empty } from '../ui/marks.js'
import { Screen, WhenRead } from '../ui/screen.js'

const SOURCES = [
  ['', 'All'],
  ['override', 'Override'],
  ['environment', 'Environment'],
  ['default', 'Default'],
] as const
const TONES = { override: 'warn', environment: 'info', default: 'neutral' } as const
const SCOPES = { master: 'masters', node: 'media nodes', both: 'masters and media nodes' } as const

export function Configuration(): VNode {
  const { search = '', source = '' } = route.value.query
  const state = useLive('configuration')
  const changed = state.data?.properties.filter((property) => property.source !== 'default').length ?? 0
  return (
    <Screen
      title="Configuration"
      note={state.data && `${countOf(state.data.properties.length, 'property', 'properties')}, ${changed} changed`}
    >
      <div class="filters">
        <SearchField label="Search" value={search} onSearch={(text) => setQuery({ search: text })} />
        <Select
          label="Source"
          value={SOURCES.find(([name]) => name === source)?.[0] ?? ''}
          options={SOURCES}
          onChoose={(chosen) => setQuery({ source: chosen })}
        />
      </div>
      <WhenRead state={state}>
        {({ properties }) => <Properties properties={selectProperties(properties, search, source)} />}
      </WhenRead>
    </Screen>
  )
}

function Properties({ properties }: { properties: readonly PropertyRow[] }): VNode {
  if (properties.length === 0)
    return <Empty>No property matches. Properties are found by name, meaning and value.</Empty>
  return (
    <ul class="properties panel">
      {properties.map((property) => (
        <li key={property.name}>
          <Property property={property} />
        </li>
      ))}
    </ul>
  )
}

const Value = ({ text, unit }: { text: string; unit: string }): VNode =>
  text === '' ? <span class="soft">empty</span> : <code>{unit ? `${text} ${unit}` : text}</code>

function Property({ property }: { property: PropertyRow }): VNode {
  const { name, meaning, value, defaultValue, source, scope, unit, isRestartable } = property
  return (
    <>
      <div class="property-name">
        <span class="named">
          <strong class="id">{name}</strong>
          <Badge tone={TONES[source]}>{source}</Badge>
        </span>
        <span class="note">
          {meaning.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
        </span>
        <span class="note">
          Of {SCOPES[scope]}
          {isRestartable ? '; POST restart changes it' : ''}
        </span>
      </div>
      <div class="property-value">
        <Value text={value} unit={unit} />
        {source !== 'default' && (
          <span class="note">
            default: <Value text={defaultValue} unit={unit} />
          </span>
        )}
      </div>
      {source === 'override' && may('configuration') && (
        <Button
          label="Drop override"
          name={`Drop override of ${name}`}
          isDangerous
          onClick={() => dropOverride(property)}
        />
      )}
    </>
  )
}
