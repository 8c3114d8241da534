import { api } from './dashboards/api.mjs'
import { callQuality } from './dashboards/call-quality.mjs'
import { node } from './dashboards/node.mjs'
import { overview } from './dashboards/overview.mjs'
import { recordings } from './dashboards/recordings.mjs'
import { chartRulesFile, rulesFile, RUNBOOK } from './rules.mjs'
import { runbookPage } from './runbook.mjs'

export const DASHBOARDS = { overview, node, 'call-quality': callQuality, recordings, api }

/** The generated files for Prometheus and Grafana; the chart can only read files of its own folder. */
export function observabilityFiles(chart) {
  const dashboards = Object.entries(DASHBOARDS).flatMap(([name, content]) => [
    [`deploy/observability/dashboards/${name}.json`, `${JSON.stringify(content, null, 2)}\n`],
    [`${chart}/files/dashboards/${name}.json`, `${JSON.stringify(content)}\n`],
  ])
  return {
    ...Object.fromEntries(dashboards),
    'deploy/observability/rules.yaml': rulesFile(),
    [`${chart}/files/rules.yaml`]: chartRulesFile(),
    [RUNBOOK]: runbookPage(),
  }
}
