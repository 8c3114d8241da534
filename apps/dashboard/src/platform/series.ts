const WIDTH = 100
const HEIGHT = 24
const MARGIN = 2

const rounded = (value: number): number => Math.round(value * 10) / 10

/** The outline of values over time in a view box of 100 × 24; empty for fewer than two. Equal values are a flat line. */
export function sparklinePath(points: readonly { at: number; value: number }[]): string {
  const [first] = points
  const last = points.at(-1)
  if (!first || !last || last.at <= first.at) return ''
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const x = (at: number): number => rounded(((at - first.at) / (last.at - first.at)) * WIDTH)
  const share = (value: number): number => (high === low ? 0.5 : (value - low) / (high - low))
  const y = (value: number): number => rounded(HEIGHT - MARGIN - share(value) * (HEIGHT - 2 * MARGIN))
  return points.map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${x(at)} ${y(value)}`).join('')
}
