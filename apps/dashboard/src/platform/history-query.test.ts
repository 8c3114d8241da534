import { describe, expect, it } from '@jest/globals'
import { SessionEndReason } from '@session-service/contract'
import { dayOf, historyQuery, REASONS, startOfDay } from './history-query.js'

describe('the filters of the history', () => {
  it('sends the filters that are set, and nothing else of the address', () => {
    expect(historyQuery({ session: 'a b', reason: '', from: '12', page: '3' })).toBe('session=a+b&from=12')
    expect(historyQuery({})).toBe('')
  })

  it('offers reasons of the contract', () => {
    expect(REASONS.filter((reason) => !SessionEndReason.options.includes(reason))).toEqual([])
  })

  it('includes the whole last day', () => {
    const from = startOfDay('2026-03-09', 0)
    const to = startOfDay('2026-03-09', 1)
    expect([dayOf(from), dayOf(to, -1)]).toEqual(['2026-03-09', '2026-03-09'])
    expect(Number(to)).toBeGreaterThan(Number(from))
  })

  it('has no day for a missing or invalid time, and no time for a missing day and for a year that is being typed', () => {
    const days = ['', '0002-03-09', '0020-03-09', '0202-03-09']
    expect([dayOf(undefined), dayOf('x')]).toEqual(['', ''])
    expect(days.map((day) => startOfDay(day, 0))).toEqual(['', '', '', ''])
  })
})
