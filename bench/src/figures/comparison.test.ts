import { describe, expect, it } from '@jest/globals'
import { compare, describeAim } from './comparison.js'

const figure = 'latency, ms'

describe('a comparison', () => {
  it('takes the median of the ratios, not the ratio of the medians', () => {
    // The machine was ten times slower during the second pair.
    const { summary } = compare({ figure, ours: [2, 20, 3], reference: [1, 10, 3] })
    expect(summary.ratio.median).toBe(2)
    expect(summary.ours.median).toBe(3)
  })

  it('reports whether its aim is met, for upper and lower bounds', () => {
    const ours = [1.1, 1.1]
    const reference = [1, 1]
    expect(describeAim(compare({ figure, ours, reference, aim: { most: 1.3 } }))).toBe('≤ 1.3 met')
    expect(describeAim(compare({ figure, ours, reference, aim: { most: 1.05 } }))).toBe('≤ 1.05 missed')
    expect(describeAim(compare({ figure, ours, reference, aim: { least: 0.5 } }))).toBe('≥ 0.5 met')
    expect(describeAim(compare({ figure, ours, reference, aim: { least: 2 } }))).toBe('≥ 2 missed')
    expect(describeAim(compare({ figure, ours, reference }))).toBe('')
  })
})
