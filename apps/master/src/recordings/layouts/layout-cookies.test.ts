import { expect, it } from '@jest/globals'
import { LayoutCookies } from './layout-cookies.js'

const NOW = 1_800_000_000_000
const DAY = 24 * 60 * 60 * 1_000
const cookies = new LayoutCookies(['secret'])
const GRID = '/service/layouts/grid/'
const header = ({ name, value }: { name: string; value: string }): string => `other=1; ${name}=${value}; last=2`
const grid = header(cookies.of(GRID, NOW))

it.each<[string, string | undefined, string, number, boolean]>([
  ['a file of its layout', grid, `${GRID}index.html`, NOW, true],
  ['a file in a subfolder of its layout', grid, `${GRID}fonts/a.woff2`, NOW + DAY - 2_000, true],
  ['after its expiry', grid, `${GRID}index.html`, NOW + DAY + 1_000, false],
  ['another layout', grid, '/service/layouts/other/index.html', NOW, false],
  ['one whose name begins like it', grid, '/service/layouts/grid2/index.html', NOW, false],
  ['the folder above all layouts', grid, '/service/layouts/index.html', NOW, false],
  ['no cookie', undefined, `${GRID}index.html`, NOW, false],
  [
    'the cookie of another service',
    header(new LayoutCookies(['other']).of(GRID, NOW)),
    `${GRID}index.html`,
    NOW,
    false,
  ],
  ['a forged path', grid.replace(/=[\w-]+\./, '=Lw.'), `${GRID}index.html`, NOW, false],
  ['a forged expiry', grid.replace(/\.\d+\./, '.9999999999.'), `${GRID}index.html`, NOW, false],
  ['no signature', grid.replace(/\.[\w-]+;/, '.;'), `${GRID}index.html`, NOW, false],
])('validates the cookie of a layout: %s', (_, cookie, path, now, isValid) => {
  expect(cookies.isValid(cookie, path, now)).toBe(isValid)
})

it('a cookie stays valid while its secret is the previous one', () => {
  expect(new LayoutCookies(['new', 'secret']).isValid(grid, `${GRID}index.html`, NOW)).toBe(true)
  expect(new LayoutCookies(['new']).isValid(grid, `${GRID}index.html`, NOW)).toBe(false)
})
