import { describe, expect, it } from '@jest/globals'
import { linkTo, pageOf, parseRoute, screenOf, SCREENS, type ScreenName } from './routes.js'

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
