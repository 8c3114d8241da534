import { describe, expect, it } from '@jest/globals'
import { filterPipelines } from './filter-pipelines.js'

const problems = (value: unknown): string[] => {
  const parsed = filterPipelines.schema.safeParse(typeof value === 'string' ? value : JSON.stringify(value))
  return parsed.success ? [] : parsed.error.issues.map(({ path }) => path.join('.'))
}

describe('the pipelines for filters', () => {
  it('are read from JSON and shown as JSON', () => {
    const value = filterPipelines.schema.parse('{"sepia":{"kind":"video","pipeline":" videobalance name=b "}}')
    expect(value).toEqual({ sepia: { kind: 'video', pipeline: 'videobalance name=b', properties: [] } })
    expect(filterPipelines.schema.parse(filterPipelines.show(value))).toEqual(value)
    expect(filterPipelines.schema.parse('{}')).toEqual({})
  })

  it.each([
    ['text that is not JSON', 'sepia', ['']],
    ['a list', '[]', ['']],
    ['a bad name', { 'se pia': { kind: 'video', pipeline: 'a' } }, ['se pia']],
    ['an unknown kind', { sepia: { kind: 'data', pipeline: 'a' } }, ['sepia.kind']],
    ['no pipeline', { sepia: { kind: 'audio', pipeline: ' ' } }, ['sepia.pipeline']],
    ['a line break in a pipeline', { sepia: { kind: 'audio', pipeline: 'a\nstop' } }, ['sepia.pipeline']],
    ['an unknown member', { sepia: { kind: 'audio', pipeline: 'a', more: 1 } }, ['sepia']],
    [
      'a property without an element',
      { sepia: { kind: 'audio', pipeline: 'a', properties: ['hue'] } },
      ['sepia.properties.0'],
    ],
  ])('reject %s', (_, value, expected) => {
    expect(problems(value)).toEqual(expected)
  })

  const one = (changes: object) => JSON.stringify({ sepia: { kind: 'video', pipeline: 'a', ...changes } })
  it.each([
    ['sepia', /^must be a JSON object: name → \{"kind": "video", .*\}$/],
    ['{"se pia":{"kind":"video","pipeline":"a"}}', /^each name must begin with a letter/],
    ['{"sepia":"a"}', /^pipeline sepia: must be \{"kind": "video", .*\}$/],
    [one({ kind: 'data' }), /^pipeline sepia: kind must be audio or video$/],
    [one({ pipeline: '' }), /^pipeline sepia: pipeline must have 1 to 4096 characters$/],
    [one({ pipeline: undefined }), /^pipeline sepia: pipeline must have 1 to 4096 characters$/],
    [one({ properties: 'hue' }), /^pipeline sepia: properties must be an array$/],
    [one({ properties: ['b.hue', 'hue'] }), /^pipeline sepia: properties\.1 must be of the form element\.property$/],
    [one({ properties: [1] }), /^pipeline sepia: properties\.0 must be of the form element\.property$/],
    [one({ more: 1 }), /^pipeline sepia: must be \{"kind": "video", .*\}$/],
  ])('say what is wrong with %s', (value, expected) => {
    const messages = filterPipelines.schema.safeParse(value).error?.issues.map(({ message }) => message)
    expect(messages).toEqual([expect.stringMatching(expected)])
  })
})
