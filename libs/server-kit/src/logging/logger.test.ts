import { beforeEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { createLogger, type LoggerOptions } from './logger.js'

describe('ServiceLogger', () => {
  let lines: string[] = []
  const logger = (options: Partial<LoggerOptions> = {}) =>
    createLogger({ level: 'trace', format: 'json', name: 'master', write: (line) => lines.push(line), ...options })
  const last = (): unknown => JSON.parse(lines.at(-1) ?? '')

  beforeEach(() => {
    lines = []
  })

  it('writes one JSON object per line with time, level, name, text and fields', () => {
    logger().log({ sessionId: 'ses_1', count: 2 }, 'session closed')
    expect(last()).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      pid: process.pid,
      name: 'master',
      sessionId: 'ses_1',
      count: 2,
      msg: 'session closed',
    })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/\n$/)
  })

  it.each([
    ['log', 'info'],
    ['error', 'error'],
    ['warn', 'warn'],
    ['debug', 'debug'],
    ['verbose', 'trace'],
    ['fatal', 'fatal'],
  ] as const)('%s writes a line of level %s', (method, level) => {
    logger()[method]('text')
    expect(last()).toMatchObject({ level, msg: 'text' })
  })

  it.each<[string, [unknown, ...unknown[]], object]>([
    ['text and context', ['text', 'Context'], { msg: 'text', context: 'Context' }],
    ['fields, text and context', [{ a: 1 }, 'text', 'Context'], { a: 1, msg: 'text', context: 'Context' }],
    [
      'text, stack and context',
      ['text', 'Error: x\n    at f (file.js:1:1)', 'Context'],
      { msg: 'text', context: 'Context', err: { stack: expect.stringContaining('file.js') } },
    ],
    [
      'error and context',
      [new RangeError('bad'), undefined, 'Context'],
      { msg: 'bad', context: 'Context', err: { type: 'RangeError' } },
    ],
    [
      'text and error',
      ['text', new RangeError('bad'), 'Context'],
      { msg: 'text', context: 'Context', err: { message: 'bad' } },
    ],
    ['several texts', ['one', 'two', 'Context'], { msg: 'one two', context: 'Context' }],
    ['numbers and lists', [[1, 2], 'Context'], { msg: '[1,2]', context: 'Context' }],
    [
      'an error among fields',
      [{ err: new Error('inner'), a: 1 }, 'text'],
      { a: 1, msg: 'text', err: { message: 'inner' } },
    ],
  ])('accepts %s', (_what, [message, ...rest], expected) => {
    logger().error(message, ...rest)
    expect(last()).toMatchObject(expected)
  })

  it('masks secrets in fields, texts, errors and child fields', () => {
    const masked = logger()
    masked.log(
      { token: 'tok_Secret1', url: 'postgres://a:Secret1@b' },
      'used tok_Secret1 on nats://a:Secret1@b',
      'Context',
    )
    masked.error(new Error('cannot reach postgres://a:Secret1@b'))
    masked.child({ resumeKey: 'Secret1' }).log('child')
    expect(lines.join('')).not.toContain('Secret1')
    expect(lines).toHaveLength(3)
  })

  it('drops lines below its level, and those about the start of Nest', () => {
    const quiet = logger({ level: 'info' })
    quiet.debug('no')
    quiet.verbose('no')
    quiet.log('AppModule dependencies initialized', 'InstanceLoader')
    quiet.log('yes', 'SessionsService')
    expect(lines).toHaveLength(1)
  })

  it('adds the fields of a child to each of its lines', () => {
    logger().child({ nodeId: 'n1' }).child({ worker: 2 }).warn({ roomId: 'r' }, 'text')
    expect(last()).toMatchObject({ nodeId: 'n1', worker: 2, roomId: 'r', msg: 'text' })
  })

  it('implements the logger of Nest', () => {
    Logger.overrideLogger(logger())
    new Logger('SessionsService').warn({ sessionId: 's' }, 'late')
    new Logger('SessionsService').error('broken', new Error('x').stack)
    Logger.overrideLogger(false)
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: 'warn', sessionId: 's', msg: 'late', context: 'SessionsService' },
      {
        level: 'error',
        msg: 'broken',
        context: 'SessionsService',
        err: { stack: expect.stringContaining('logger.test') },
      },
    ])
  })

  it('writes readable lines in the format pretty', () => {
    const pretty = logger({ format: 'pretty' })
    pretty.log({ sessionId: 'ses_1', note: 'two words', list: [1] }, 'session closed', 'Sessions')
    pretty.error({ err: new Error('broken') }, 'it failed')
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO  master \[Sessions\] session closed sessionId=ses_1 note="two words" list=\[1\]\n$/,
    )
    expect(lines[1]).toMatch(/^[\d:.]+ ERROR master it failed\n {4}Error: broken\n {8}at /)
  })
})
