import { expect, it } from '@jest/globals'
import { wordsOf } from './online-words.js'

it.each([
  [
    'tokens are joined to words, and a word ends with the next one',
    { text: '', tokens: ['▁st', 'art', '▁the', '▁record', 'ing'], timestamps: [0.4, 0.6, 0.8, 1, 1.4] },
    [
      { word: 'start', start: 0.4, end: 0.8 },
      { word: 'the', start: 0.8, end: 1 },
      { word: 'recording', start: 1, end: 1.7 },
    ],
  ],
  [
    'a word before a pause ends soon after its last token',
    { text: '', tokens: [' a', ' b'], timestamps: [1, 5], start_time: 10 },
    [
      { word: 'a', start: 11, end: 11.3 },
      { word: 'b', start: 15, end: 15.3 },
    ],
  ],
  [
    'a mark of its own begins a word',
    { text: '', tokens: ['▁', 'a'], timestamps: [1, 1.5] },
    [{ word: 'a', start: 1, end: 1.8 }],
  ],
  ['tokens without times give no words', { text: 'a', tokens: ['▁a'] }, []],
  ['no tokens give no words', { text: '' }, []],
])('%s', (_rule, result, words) => {
  expect(
    wordsOf(result).map((each) => ({
      ...each,
      start: Number(each.start.toFixed(3)),
      end: Number(each.end.toFixed(3)),
    })),
  ).toEqual(words)
})
