import { scoped } from './scope.mjs'

/** Columns of a Grafana dashboard. */
const COLUMNS = 24
const SCHEMA_VERSION = 39
/** Type of a variable's query in the editor for Prometheus. */
const LABEL_VALUES = 1
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }
const SIZES = {
  stat: { w: 4, h: 4 },
  timeseries: { w: 12, h: 8 },
  table: { w: 24, h: 9 },
}

/** A target: an expression, with the legend of its series. */
const targetOf = ([expr, legendFormat], index, isInstant) => ({
  datasource: DATASOURCE,
  editorMode: 'code',
  expr,
  legendFormat: legendFormat ?? '__auto',
  refId: String.fromCharCode('A'.charCodeAt(0) + index),
  ...(isInstant ? { instant: true, range: false, format: 'table' } : { range: true }),
})

const OPTIONS = {
  stat: {
    colorMode: 'value',
    graphMode: 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: 'auto',
  },
  timeseries: {
    legend: { calcs: ['lastNotNull', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: {
    cellHeight: 'sm',
    showHeader: true,
    footer: { show: false, reducer: ['sum'], countRows: false, fields: '' },
  },
}

const steps = ({ warn, bad } = {}) => [
  { color: 'green', value: null },
  ...(warn === undefined ? [] : [{ color: 'orange', value: warn }]),
  ...(bad === undefined ? [] : [{ color: 'red', value: bad }]),
]

function custom(type, isStacked) {
  if (type !== 'timeseries') return {}
  return {
    drawStyle: 'line',
    fillOpacity: isStacked ? 30 : 8,
    lineWidth: 1,
    showPoints: 'never',
    spanNulls: false,
    stacking: { group: 'A', mode: isStacked ? 'normal' : 'none' },
  }
}

const fieldConfig = (type, { unit, min = 0, max, warn, bad, isStacked }) => ({
  defaults: {
    unit,
    min,
    ...(max === undefined ? {} : { max }),
    color: { mode: type === 'stat' ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: steps({ warn, bad }) },
    custom: custom(type, isStacked),
  },
  overrides: [],
})

const panel = (type) => (title, description, options, queries) => ({ type, title, description, options, queries })
/** `graph('Title', 'Description.', { unit, max, isStacked }, { expression: legend })` */
export const graph = panel('timeseries')
/** One number, with thresholds for its colour. */
export const stat = panel('stat')
export const table = panel('table')
export const row = (title, panels) => ({ title, panels })

function place(rows) {
  const placed = []
  let [y, id] = [0, 0]
  for (const { title, panels } of rows) {
    placed.push({ type: 'row', id: ++id, title, collapsed: false, gridPos: { h: 1, w: COLUMNS, x: 0, y }, panels: [] })
    y += 1
    let [x, height] = [0, 0]
    for (const each of panels) {
      const { w, h } = SIZES[each.type]
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0]
      placed.push({ ...each, id: ++id, gridPos: { h, w, x, y } })
      x += w
      height = Math.max(height, h)
    }
    y += height
  }
  return placed
}

const finishPanel = (matchers) => (each) => {
  if (each.type === 'row') return each
  const { type, title, description, options, queries, id, gridPos } = each
  const targets = Object.entries(queries).map(([expr, legend], index) =>
    targetOf([scoped(expr, matchers), legend || undefined], index, type === 'table'),
  )
  const shown = { fieldConfig: fieldConfig(type, options), options: OPTIONS[type] }
  return { id, type, title, description, datasource: DATASOURCE, gridPos, ...shown, targets }
}

const queryVariable = (name, label, query) => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  definition: query,
  query: { qryType: LABEL_VALUES, query, refId: `variable-${name}` },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  // Also series without this label.
  allValue: '.*',
  current: { selected: true, text: ['All'], value: ['$__all'] },
  hide: 0,
  options: [],
})

const DATASOURCE_VARIABLE = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  refresh: 1,
  multi: false,
  includeAll: false,
  hide: 0,
  options: [],
}

/** `instances`: a metric of the processes that the variable `$instance` offers; without one there is no such variable. */
export function dashboard({ uid, title, description, instances, rows }) {
  const matchers = ['cluster=~"$cluster"', ...(instances ? ['instance=~"$instance"'] : [])].join(',')
  const variables = [
    DATASOURCE_VARIABLE,
    queryVariable('cluster', 'Cluster', 'label_values(session_service_bus_connected, cluster)'),
    ...(instances
      ? [queryVariable('instance', 'Instance', `label_values(${instances}{cluster=~"$cluster"}, instance)`)]
      : []),
  ]
  return {
    uid,
    title,
    description,
    tags: ['session-service'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    links: [
      {
        type: 'dashboards',
        title: 'Session Service',
        tags: ['session-service'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    templating: { list: variables },
    panels: place(rows).map(finishPanel(matchers)),
  }
}
