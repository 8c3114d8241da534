// The alerts, with promtool of Prometheus.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { parseYaml } from '@redocly/openapi-core'
import { findPrometheus } from '../bootstrap/prometheus.mjs'
import { ALERT_CASES } from './alert-cases.mjs'
import { ALERTS, chartRulesFile, plainGroups } from './rules.mjs'

const ROOT = resolve(import.meta.dirname, '../..')
const RULES = join(ROOT, 'deploy/observability/rules.yaml')
const prometheus = findPrometheus(process.env)
const skip = prometheus ? false : 'there is no promtool'
/** Long enough for every alert: the longest `for` is 15 minutes. */
const AT = '19m'

const promtool = (...args) =>
  spawnSync(join(dirname(prometheus), 'promtool'), args, { encoding: 'utf8', timeout: 60_000 })

const rules = new Map(
  plainGroups()
    .flatMap((group) => group.rules)
    .map((rule) => [rule.alert, rule]),
)
const seriesOf = (values) => Object.entries(values).map(([series, each]) => ({ series, values: each }))
const CASES = ALERTS.flatMap((alert) => [ALERT_CASES[alert.name] ?? []].flat().map((each) => ({ alert, ...each })))

/** The alert as promtool expects it: all labels and annotations. */
function expectedAlert({ name }, labels) {
  const { labels: own, annotations } = rules.get(name)
  const filled = Object.entries(annotations).map(([key, text]) => [
    key,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => labels[label]),
  ])
  return { exp_labels: { ...labels, ...own }, exp_annotations: Object.fromEntries(filled) }
}

const unitTest = (values, expectations, interval = '1m') => ({
  interval,
  input_series: seriesOf(values),
  alert_rule_test: expectations.map(({ alert, labels }) => ({
    eval_time: AT,
    alertname: alert.name,
    exp_alerts: labels ? [expectedAlert(alert, labels)] : [],
  })),
})

/** As few tests as possible, because each costs a tenth of a second: cases share one unless they have a series in common. */
function quietTests(cases) {
  const groups = []
  for (const { alert, quiet, interval } of cases) {
    const fits = (group) =>
      group.interval === interval && Object.keys(quiet).every((series) => group.values[series] === undefined)
    let group = groups.find(fits)
    if (!group) groups.push((group = { values: {}, expectations: [], interval }))
    Object.assign(group.values, quiet)
    group.expectations.push({ alert })
  }
  return groups.map(({ values, expectations, interval }) => unitTest(values, expectations, interval))
}

/** The path of a file with the value as JSON, which is YAML. */
function temporaryFile(t, value) {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file.yaml')
  writeFileSync(file, JSON.stringify(value))
  return file
}

const run = (t, tests) =>
  promtool('test', 'rules', temporaryFile(t, { rule_files: [RULES], evaluation_interval: '1m', tests }))

test('every alert has a case in which it fires and one in which it does not', () => {
  assert.deepEqual(Object.keys(ALERT_CASES).sort(), ALERTS.map(({ name }) => name).sort())
})

test('the rules are valid', { skip }, () => {
  const { status, stderr } = promtool('check', 'rules', '--lint-fatal', RULES)
  assert.equal(status, 0, stderr)
})

test('the rules of the chart are valid and cover the cluster of the release alone', { skip }, (t) => {
  const groups = parseYaml(chartRulesFile().replaceAll('@NAMESPACE@', 'conference').replaceAll('@FULLNAME@', 'calls'))
  const { status, stderr } = promtool('check', 'rules', '--lint-fatal', temporaryFile(t, { groups }))
  assert.equal(status, 0, stderr)
  const all = groups.flatMap(({ rules: own }) => own)
  assert.equal(all.length, plainGroups().flatMap(({ rules: own }) => own).length)
  for (const { expr } of all) {
    const series = expr.match(/\b(session_service[_:]|up\{)/g).length
    assert.equal(expr.split('cluster="conference/calls"').length - 1, series, expr)
  }
})

test('each alert fires with the series that describe its cause', { skip }, (t) => {
  const { status, stdout, stderr } = run(
    t,
    CASES.map(({ alert, fires, labels, interval }) => unitTest(fires, [{ alert, labels }], interval)),
  )
  assert.equal(status, 0, stdout + stderr)
})

test('no alert fires with the series of normal operation', { skip }, (t) => {
  const { status, stdout, stderr } = run(t, quietTests(CASES))
  assert.equal(status, 0, stdout + stderr)
})

test('the runbook has an entry for the runbook_url of each alert', () => {
  const headings = [...readFileSync(join(ROOT, 'docs/runbook.md'), 'utf8').matchAll(/^## (\w+)$/gm)]
  const anchors = headings.map(([, heading]) => `docs/runbook.md#${heading.toLowerCase()}`)
  assert.deepEqual(
    anchors,
    ALERTS.map(({ name }) => rules.get(name).annotations.runbook_url),
  )
})
