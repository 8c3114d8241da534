import { expect, it } from '@jest/globals'
import type { PropertyRow } from '@session-service/contract/dashboard'
import { selectProperties } from './properties.js'

const property = (name: string, source: PropertyRow['source'], meaning = '', value = ''): PropertyRow => ({
  name,
  meaning,
  scope: 'master',
  unit: '',
  value,
  defaultValue: '',
  source,
  isRestartable: true,
})
const PROPERTIES = [
  property('B_DEFAULT', 'default'),
  property('A_DEFAULT', 'default', 'The longest duration'),
  property('ENVIRONMENT', 'environment', '', 'Duration'),
  property('OVERRIDE', 'override'),
]

it.each([
  ['', '', ['OVERRIDE', 'ENVIRONMENT', 'A_DEFAULT', 'B_DEFAULT']],
  ['', 'default', ['A_DEFAULT', 'B_DEFAULT']],
  ['duration', '', ['ENVIRONMENT', 'A_DEFAULT']],
  [' override ', '', ['OVERRIDE']],
  ['nothing', '', []],
])('lists properties with the text "%s" of the source "%s", changed ones first', (search, source, names) =>
  expect(selectProperties(PROPERTIES, search, source).map(({ name }) => name)).toEqual(names),
)
