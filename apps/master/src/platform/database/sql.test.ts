import { describe, expect, it } from '@jest/globals'
import { MasterEntity } from '../../media-nodes/master.entity.js'
import { columns } from './sql.js'

describe('columns', () => {
  it('lists columns under the names of their properties', () => {
    expect(columns(MasterEntity, 'm', ['id', 'aliveAt'])).toBe('m.id, m.alive_at AS "aliveAt"')
  })

  it('rejects a property that is no column', () => {
    class Named extends MasterEntity {
      label = ''
    }
    expect(() => columns(Named, 'm', ['label'])).toThrow('Named has no column label')
  })
})
