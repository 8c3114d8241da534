import { expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import type { SpeechResult } from '@session-service/speech'
import { PartialResults } from './partial-results.js'

const partial = (text: string): SpeechResult => ({ kind: 'partial', text, raw: '' })

function tested() {
  const sent: { text: string; at: number }[] = []
  const results = new PartialResults(({ text }) => sent.push({ text, at: performance.now() }))
  return { results, sent, texts: () => sent.map(({ text }) => text) }
}

it('of partial results in quick succession the first is sent at once and the latest after the interval', async () => {
  const { results, sent, texts } = tested()
  for (const text of ['a', 'a b', 'a b c']) results.add(partial(text))
  expect(texts()).toEqual(['a'])
  await until('the latest is sent', () => sent.length > 1)
  expect(texts()).toEqual(['a', 'a b c'])
  expect(sent[1]!.at - sent[0]!.at).toBeGreaterThan(240)
})

it('a text that has not changed is not sent again', async () => {
  const { results, sent, texts } = tested()
  results.add(partial('a'))
  results.add(partial('a'))
  await new Promise((resolve) => setTimeout(resolve, 300))
  results.add(partial('a'))
  results.add(partial('b'))
  await until('the change is sent', () => sent.length > 1)
  expect(texts()).toEqual(['a', 'b'])
})

it('a partial result that waits is dropped when its utterance ends', async () => {
  const { results, texts } = tested()
  results.add(partial('a'))
  results.add(partial('a b'))
  results.clear()
  await new Promise((resolve) => setTimeout(resolve, 300))
  results.add(partial('a'))
  expect(texts()).toEqual(['a', 'a'])
})
