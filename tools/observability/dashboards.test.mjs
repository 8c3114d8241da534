// The dashboards and the files beside them, without Grafana.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { parseYaml } from '@redocly/openapi-core'
import { findPrometheus } from '../bootstrap/prometheus.mjs'
import { DASHBOARDS } from './files.mjs'
import { CLUSTER_LABELS } from './queries.mjs'
import { ALERTS, plainGroups } from './rules.mjs'
import { scoped } from './scope.mjs'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const FOLDER = join(DEPLOY, 'observability')
const readYaml = (file) => parseYaml(readFileSync(join(FOLDER, file), 'utf8'))
const all = Object.values(DASHBOARDS)
const panelsOf = ({ panels }) => panels.filter(({ type }) => type !== 'row')
const prometheus = findPrometheus(process.env)
const metricsPage = readFileSync(resolve(DEPLOY, '../docs/metrics.md'), 'utf8')

test('matchers are added to each series, and to nothing else', () => {
  for (const [expr, expected] of [
    ['session_service_a', 'session_service_a{x="1"}'],
    ['sum by (le) (rate(session_service_a{b="c"}[5m]))', 'sum by (le) (rate(session_service_a{b="c",x="1"}[5m]))'],
    ['up{job="j"} == 0', 'up{job="j",x="1"} == 0'],
    ['session_service:a:b / process_c', 'session_service:a:b{x="1"} / process_c{x="1"}'],
  ])
    assert.equal(scoped(expr, 'x="1"'), expected)
})

test('every panel has a title, a sentence as description, a unit and queries of the chosen clusters', () => {
  for (const dashboard of all)
    for (const { title, description, fieldConfig, targets } of panelsOf(dashboard)) {
      assert.match(description, /^[A-Z0-9].*\.$/, title)
      assert.ok(fieldConfig.defaults.unit, title)
      assert.ok(targets.length > 0, title)
      for (const { expr, datasource } of targets) {
        assert.match(expr, /cluster=~"\$cluster"/, title)
        assert.equal(datasource.uid, '${datasource}')
      }
    }
})

test('a dashboard chooses processes exactly when it has the variable', () => {
  for (const { templating, panels, title } of all) {
    const has = templating.list.some(({ name }) => name === 'instance')
    const uses = panels.flatMap(({ targets = [] }) => targets).every(({ expr }) => expr.includes('$instance'))
    assert.equal(uses, has, title)
  }
})

test('panels have ids of their own and do not overlap', () => {
  assert.equal(new Set(all.map(({ uid }) => uid)).size, all.length)
  for (const { panels, title } of all) {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, title)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    assert.equal(new Set(cells).size, cells.length, title)
    for (const { gridPos } of panels) assert.ok(gridPos.x + gridPos.w <= 24, title)
  }
})

test('queries and rules use documented metrics and recorded series only', () => {
  const documented = new Set([...metricsPage.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name))
  const recorded = new Set(plainGroups().flatMap(({ rules }) => rules.map(({ record }) => record)))
  const expressions = [
    ...all.flatMap(({ panels }) => panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))),
    ...plainGroups().flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ]
  for (const expr of expressions)
    for (const [name, metric] of expr.matchAll(/\bsession_service[_:]([\w:]+)/g))
      assert.ok(recorded.has(name) || documented.has(metric.replace(/_(bucket|sum|count)$/, '')), name)
})

test('queries keep the documented labels of values of the cluster', () => {
  const rows = [...metricsPage.matchAll(/^\| `(\w+)` +\| gauge +\| ([\w, ]*?) *\| cluster, /gm)]
  const labelled = rows.flatMap(([, name, labels]) => (labels ? [[name, labels.split(', ')]] : []))
  assert.deepEqual(CLUSTER_LABELS, Object.fromEntries(labelled))
})

test('numbers of the overview add up the groups of a value, and count one that two masters export once', (t) => {
  if (!prometheus) return t.skip('there is no promtool')
  const figures = {
    Sessions: [12, { 'cluster_sessions{placed="yes"}': 10, 'cluster_sessions{placed="no"}': 2 }],
    Participants: [
      7,
      {
        'cluster_connections{type="participant",status="active"}': 4,
        'cluster_connections{type="camera",status="active"}': 3,
        'cluster_connections{type="participant",status="pending"}': 90,
      },
    ],
    Streams: [
      17,
      {
        'cluster_streams{kind="audio"}': 5,
        'cluster_streams{kind="video"}': 3,
        'cluster_streams{kind="audio_video"}': 9,
      },
    ],
    Recordings: [
      3,
      {
        'cluster_recordings{status="starting"}': 1,
        'cluster_recordings{status="started"}': 2,
        'cluster_recordings{status="ready"}': 90,
      },
    ],
  }
  const series = Object.values(figures).flatMap(([, each]) => Object.entries(each))
  const input = ['master:4480', 'master2:4480'].flatMap((instance) =>
    series.map(([name, value]) => ({
      series: `session_service_${name.replace('{', `{cluster="main",instance="${instance}",`)}`,
      values: `${value}x1`,
    })),
  )
  const stats = panelsOf(DASHBOARDS.overview).filter(({ type, title }) => type === 'stat' && figures[title])
  assert.equal(stats.length, Object.keys(figures).length)
  const expected = stats.map(({ title, targets: [{ expr }] }) => ({
    expr: expr.replaceAll('$cluster', '.*'),
    eval_time: '1m',
    exp_samples: [{ labels: '{}', value: figures[title][0] }],
  }))
  const folder = mkdtempSync(join(tmpdir(), 'queries-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'test.yaml')
  writeFileSync(file, JSON.stringify({ tests: [{ interval: '1m', input_series: input, promql_expr_test: expected }] }))
  const args = ['test', 'rules', file]
  const { status, stdout, stderr } = spawnSync(join(dirname(prometheus), 'promtool'), args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
})

test('the scrape configuration has the jobs that the alerts expect, and Prometheus accepts it', () => {
  const { scrape_configs: jobs, rule_files: files } = readYaml('prometheus.yml')
  const down = ALERTS.findIndex(({ name }) => name === 'SessionServiceTargetDown')
  const [, pattern] = /job=~"([^"]+)"/.exec(plainGroups()[1].rules[down].expr)
  for (const { job_name: name } of jobs) assert.match(name, new RegExp(`^(${pattern})$`))
  for (const file of files) assert.ok(existsSync(join(FOLDER, file)), file)
  if (!prometheus) return
  const args = ['check', 'config', join(FOLDER, 'prometheus.yml')]
  const { status, stderr } = spawnSync(join(dirname(prometheus), 'promtool'), args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

test('the compose file mounts existing files, pins its images, and opens ports on this machine only', () => {
  for (const [name, { image, ports, volumes, ...rest }] of Object.entries(readYaml('compose.yaml').services)) {
    assert.match(image, /:v?\d+\.\d+\.\d+$/, name)
    assert.equal(rest.read_only, true)
    for (const port of ports) assert.ok(port.startsWith('${OBSERVABILITY_BIND:-127.0.0.1}:'), port)
    for (const file of volumes.map((volume) => volume.split(':')[0]).filter((path) => path.startsWith('./')))
      assert.ok(existsSync(join(DEPLOY, file)), file)
  }
})

test('the targets are services of the compose file of the product, and Grafana reads the dashboards from its mount', () => {
  const product = parseYaml(readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8')).services
  for (const { static_configs: configs } of readYaml('prometheus.yml').scrape_configs)
    for (const target of configs.flatMap(({ targets }) => targets)) assert.ok(product[target.split(':')[0]], target)
  const [{ options }] = readYaml('grafana/dashboards.yaml').providers
  const { volumes } = readYaml('compose.yaml').services.grafana
  assert.ok(volumes.some((volume) => volume.split(':')[1] === options.path))
})
