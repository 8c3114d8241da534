import { expect, it } from '@jest/globals'
import { createLogger, registry } from '@session-service/server-kit'
import { reportBusProblems } from './report-problems.js'

it('logs and counts each problem of the bus', async () => {
  const lines: string[] = []
  const report = reportBusProblems(
    createLogger({ level: 'info', format: 'json', name: 'test', write: (line) => lines.push(line) }),
  )
  report({ kind: 'poison', subject: 'fact.n1', message: 'the message is not JSON' })
  report({ kind: 'handler', subject: 'fact.n1', message: 'broken', error: new Error('broken') })
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'warn', kind: 'poison', subject: 'fact.n1', msg: 'bus: the message is not JSON' },
    { level: 'error', kind: 'handler', msg: 'bus: broken', err: { stack: expect.stringContaining('report-problems') } },
  ])
  expect(await registry.metrics()).toContain('session_service_bus_problems_total{kind="poison"} 1')
})
