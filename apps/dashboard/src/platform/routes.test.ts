import { describe, expect, it } from '@jest/globals'
import { changeQuery, linkTo, pageOf, parseRoute, screenOf, SCREENS, type ScreenName } from './routes.js'

describe('routes', () => {
  it.each([
    ['', 'overview', '', {}],
    ['#', 'overview', '', {}],
    ['#/', 'overview', '', {}],
    ['#/sessions', 'sessions', '', {}],
    ['#/sessions/', 'sessions', '', {}],
    ['#/sessions?search=a%20b&page=2', 'sessions', '', { search: 'a b', page: '2' }],
    ['#/sessions?search=a?b', 'sessions', '', { search: 'a?b' }],
    ['#/sessions/a%2Fb%20c', 'session', 'a/b c', {}],
    ['#/media-nodes/node-1?page=3', 'media-node', 'node-1', { page: '3' }],
    ['#/history/monday_1700', 'ended-session', 'monday_1700', {}],
    ['#/unknown', undefined, '', {}],
    ['#/sessions/a/b', undefined, '', {}],
    ['#/sessions/%E0%A4', undefined, '', {}],
    ['#/toString', undefined, '', {}],
  ])('reads the address "%s" as the screen %s', (hash, screen, id, query) =>
    expect(parseRoute(hash)).toEqual({ screen, id, query }),
  )

  it.each(Object.keys(SCREENS) as ScreenName[])(
    'writes the address of the screen %s so that it reads it again',
    (screen) => {
      const id = SCREENS[screen].includes(':id') ? 'a/b ?#%' : ''
      const query = { search: 'ä&=', page: 2 }
      expect(parseRoute(linkTo(screen, id, query))).toEqual({ screen, id, query: { search: 'ä&=', page: '2' } })
    },
  )

  it('leaves out empty values and first pages', () => {
    expect(linkTo('sessions', '', { search: '', page: 1 })).toBe('#/sessions')
  })

  it.each([
    ['#/sessions?search=a&page=2', { search: 'b' }, '#/sessions?search=b'],
    ['#/sessions?search=a&page=2', { page: 3 }, '#/sessions?search=a&page=3'],
    ['#/history?session=a', { reason: 'nodeCrashed' }, '#/history?session=a&reason=nodeCrashed'],
    ['#/toString', { search: 'b' }, undefined],
  ])('changes the parameters of the screen at "%s" by %j', (hash, change, changed) =>
    expect(changeQuery(parseRoute(hash), hash, change)).toBe(changed),
  )

  it.each(['#/history/monday_1700', '#/', '#/unknown'])(
    'leaves the address "%s" of a link that was followed while a change was due',
    (hash) => expect(changeQuery(parseRoute('#/history?reason=x'), hash, { session: 'mon' })).toBeUndefined(),
  )

  it('keeps the parameters of a link to the shown screen that was followed while a change was due', () => {
    const shown = parseRoute('#/history?reason=x')
    expect(changeQuery(shown, '#/history?mediaNode=n', { session: 'mon' })).toBe('#/history?mediaNode=n&session=mon')
  })

  it('shows a view on its screen, and on the overview when it has none of its own', () => {
    expect(['dead-letters', 'later', 'session'].map(screenOf)).toEqual(['dead-letters', 'overview', 'overview'])
  })

  it.each([
    [{}, 1],
    [{ page: '7' }, 7],
    [{ page: '0' }, 1],
    [{ page: '1.5' }, 1],
    [{ page: 'x' }, 1],
    [{ page: '1000001' }, 1],
  ])('takes the page of %j as %d', (query, page) => expect(pageOf(query as Record<string, string>)).toBe(page))
})
