import { expect, it } from '@jest/globals'
import { displayName } from './display-name.js'

it.each([
  ['', 'Participant 3'],
  ['   ', 'Participant 3'],
  ['Alice', 'Alice'],
  ['Alice%/%{"role":"x"}', 'Alice'],
  ['{"clientData":"Bob"}', 'Bob'],
  ['{"clientData":"Bob"}%/%{"serverData":"secret"}', 'Bob'],
  ['{"name":"Cécile"}', 'Cécile'],
  ['{"userName":"Dora","id":7}', 'Dora'],
  ['{"name":"","nickname":"Emil"}', 'Emil'],
  ['{"name":7}', 'Participant 3'],
  ['{"id":"u-17"}', 'Participant 3'],
  ['{"broken', 'Participant 3'],
  ['["a"]', 'Participant 3'],
  ['42', '42'],
  ['two\tlines\nof <b>text</b> "quoted"', 'two lines of <b>text</b> "quoted"'],
  ['\u202Egnol', 'gnol'],
  ['中文名字', '中文名字'],
  ['x'.repeat(100), `${'x'.repeat(59)}…`],
  ['😀'.repeat(61), `${'😀'.repeat(59)}…`],
])('%s is %s', (clientData, name) => {
  expect(displayName(clientData, 3)).toBe(name)
})
