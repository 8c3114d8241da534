import { describe, expect, it } from '@jest/globals'
import { banner } from './banner.js'
import { ConsoleLog } from './console-log.js'
import { type Level, readLogLine } from './log-line.js'

describe('readLogLine', () => {
  it('splits a JSON line into level, text with fields, and stack', () => {
    const line = JSON.stringify({
      level: 'warn',
      time: '2026-01-01T00:00:00Z',
      pid: 1,
      name: 'master',
      context: 'Sessions',
      sessionId: 'ses_A',
      reason: 'two words',
      err: { stack: 'Error: no\n  at x' },
      msg: 'session closed',
    })
    expect(readLogLine('master', line)).toEqual({
      level: 'warn',
      text: 'session closed sessionId=ses_A reason="two words"',
      details: '    Error: no\n      at x',
    })
  })

  it('returns any other line unchanged', () => {
    for (const line of ['plain words', '{"a":1}', '{"level":"loud"}', '[1]', '{'])
      expect(readLogLine('master', line)).toEqual({ level: 'info', text: line, details: '' })
  })

  it('assigns ordinary messages of Postgres and NATS the level debug', () => {
    const postgres = (severity: string) =>
      readLogLine('postgres', `2026-01-01 00:00:00.000 UTC [1] ${severity}:  some words`)
    expect(postgres('LOG')).toEqual({ level: 'debug', text: 'some words', details: '' })
    expect(postgres('ERROR').level).toBe('debug')
    expect(postgres('WARNING').level).toBe('warn')
    expect(postgres('PANIC').level).toBe('error')
    const nats = (severity: string) => readLogLine('nats', `[1] 2026/01/01 00:00:00.000000 [${severity}] some words`)
    expect(nats('INF')).toEqual({ level: 'debug', text: 'some words', details: '' })
    expect(nats('WRN').level).toBe('warn')
    expect(nats('FTL').level).toBe('error')
  })
})

describe('ConsoleLog', () => {
  const record = (level: Level, colours = false) => {
    const written: string[] = []
    const log = new ConsoleLog({
      level,
      colours,
      write: (text) => written.push(text),
      now: () => new Date(2026, 0, 1, 9, 8, 7),
    })
    return { log, written }
  }

  it('writes time, name and text in columns, and details on separate lines', () => {
    const { log, written } = record('info')
    log.writer('master')('{"level":"error","msg":"oops","err":{"stack":"Error: no"}}', 'stdout')
    log.writer('nats')('', 'stderr')
    expect(written).toEqual(['09:08:07 master       oops\n    Error: no\n'])
  })

  it('omits lines below its level', () => {
    const { log, written } = record('warn')
    for (const level of ['error', 'warn', 'info', 'debug'] as const) log.line('x', level, level)
    expect(written).toHaveLength(2)
    log.print('always')
    expect(written.at(-1)).toBe('always\n')
  })

  it('gives each name its own colour', () => {
    const { log, written } = record('info', true)
    for (const name of ['master', 'media-node', 'master']) log.line(name, 'info', 'hello')
    expect(written[0]).toContain('\u001B[36mmaster')
    expect(written[1]).toContain('\u001B[35mmedia-node')
    expect(written[2]).toBe(written[0])
  })
})

it('the banner contains the addresses of the page and the API and an example call', () => {
  const facts = {
    page: 'http://localhost:4444',
    service: 'http://localhost:4443/',
    hasDashboard: true,
    secret: 'abc',
    seconds: 3.21,
    nodes: 2,
    captions: undefined,
  }
  const text = banner(facts, (words) => words)
  expect(text).toContain('Page       http://localhost:4444')
  expect(text).toContain('API        http://localhost:4443/service/api\n')
  expect(text).toContain(
    "curl -u SERVICEAPP:abc -H 'Content-Type: application/json' -d '{}' http://localhost:4443/service/api/sessions",
  )
  expect(text).toContain('2 media nodes, 3.2 s')
  expect(banner({ ...facts, page: undefined }, (words) => words)).not.toContain('Page')
  expect(text).toContain('Dashboard  http://localhost:4443/service/dashboard/\n')
  expect(banner({ ...facts, hasDashboard: false }, (words) => words)).not.toContain('Dashboard')
  expect(text).not.toContain('captions')
  expect(banner({ ...facts, captions: 'en-US' }, (words) => words)).toContain('Speech     live captions are on: en-US')
})
