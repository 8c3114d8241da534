import { CustomLayout } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { layoutAddress } from './layout-address.js'

const HOSTS = ['layouts.example.org', '10.0.0.7:8443', '[fd00::7]']

describe('layoutAddress', () => {
  it.each([
    ['', { kind: 'own', folder: '' }],
    ['grid', { kind: 'own', folder: 'grid' }],
    ['grid/', { kind: 'own', folder: 'grid' }],
    ['events/2026/grid.v2', { kind: 'own', folder: 'events/2026/grid.v2' }],
    ['https://layouts.example.org/grid?colour=blue', { kind: 'other' }],
    ['https://LAYOUTS.example.org/grid', { kind: 'other', url: 'https://layouts.example.org/grid' }],
    ['https://layouts.example.org:443/grid', { kind: 'other', url: 'https://layouts.example.org/grid' }],
    ['http://10.0.0.7:8443/', { kind: 'other' }],
    ['http://[fd00:0::7]/grid', { kind: 'other', url: 'http://[fd00::7]/grid' }],
  ])('%s', (customLayout, expected) => {
    expect(layoutAddress(CustomLayout.parse(customLayout), HOSTS)).toMatchObject(expected)
  })

  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]:80/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost:4443/',
    'https://layouts.example.org.evil.example/',
    'https://layouts.example.org:8443/',
    'https://evil.example/layouts.example.org',
    'https://evil.example#layouts.example.org',
    'https://layouts.example.org@evil.example/',
    'https://user:pw@layouts.example.org/',
    'http://10.0.0.7/',
  ])('%s is refused with an error that names customLayout', (customLayout) => {
    const address = CustomLayout.parse(customLayout)
    expect(() => layoutAddress(address, HOSTS)).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringContaining('customLayout:') }),
    )
    expect(() => layoutAddress(address, [])).toThrow()
  })

  it.each([
    '../../../etc',
    '..',
    'grid/../../etc',
    './grid',
    '/etc',
    'grid//x',
    '.hidden',
    'grid/.git',
    '%2e%2e/etc',
    '..%2fetc',
    '..\\etc',
    'grid\\..\\..',
    'grid\0',
    'grid\n',
    'file:///etc/passwd',
    'data:text/html,hello',
    'javascript:alert(1)',
    'ftp://layouts.example.org/',
    '//layouts.example.org/grid',
    'grid?x=1',
  ])('%j is not a valid customLayout', (customLayout) => {
    expect(CustomLayout.safeParse(customLayout).success).toBe(false)
  })
})
