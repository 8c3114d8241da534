import { stringifyYaml } from '@redocly/openapi-core'
import { CLUSTER_ALERTS } from './alerts/cluster.mjs'
import { MEDIA_ALERTS } from './alerts/media.mjs'
import { RECORDING_RULES } from './recording-rules.mjs'
import { scoped } from './scope.mjs'

export const ALERTS = [...CLUSTER_ALERTS, ...MEDIA_ALERTS]
export const RUNBOOK = 'docs/runbook.md'

/** Jobs of deploy/observability/prometheus.yml, and those of the operator for the release of the chart. */
const JOBS = 'job=~"session-service-(master|media-node)"'
const CHART_JOBS = 'job=~"(@NAMESPACE@/)?@FULLNAME@-(master|media-node)(-metrics)?"'
/** The cluster of the release: the chart labels its targets with it. */
const CHART_CLUSTER = 'cluster="@NAMESPACE@/@FULLNAME@"'
const HEADER = '# Generated from tools/observability: change the tables there, then run "npm run generate".\n'

/** Heading of an alert in the runbook, as an anchor. */
export const anchorOf = ({ name }) => name.toLowerCase()

const alertRule = ({ name, expr, for: duration, severity, summary, meaning }, docs) => ({
  alert: name,
  expr,
  ...(duration ? { for: duration } : {}),
  labels: { severity },
  annotations: { summary, description: meaning, runbook_url: `${docs}runbook.md#${anchorOf({ name })}` },
})

function groups(prefix, { jobs, matchers, docs }) {
  const finish = (rule) => ({ ...rule, expr: scoped(rule.expr.replaceAll('TARGETS', jobs), matchers) })
  return [
    { name: `${prefix}.recording`, rules: RECORDING_RULES.map(finish) },
    { name: `${prefix}.alerts`, rules: ALERTS.map((alert) => finish(alertRule(alert, docs))) },
  ]
}

const yaml = (value) => HEADER + stringifyYaml(value, { lineWidth: -1, noRefs: true })

/** For a Prometheus of the operator's own: an expression without a cluster covers all. */
export const plainGroups = () => groups('session-service', { jobs: JOBS, docs: 'docs/' })
export const rulesFile = () => yaml({ groups: plainGroups() })

/** For the chart, which replaces the words between @. */
export const chartRulesFile = () =>
  yaml(groups('@FULLNAME@', { jobs: CHART_JOBS, matchers: CHART_CLUSTER, docs: '@DOCS@' }))
