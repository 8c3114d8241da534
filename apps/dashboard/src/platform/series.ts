const WIDTH = 100
const HEIGHT = 24
const MARGIN = 2

const rounded = (value: number): number => Math.round(value * 10) / 10

/** The outline of values over time in a view box of 100 × 24; empty for fewer than two. Equal values have none. */
export function sparklinePath(points: readonly { at: number; value: number }[]): string {
  const [first] = points
  const last = points.at(-1)
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (!first || !last || last.at <= first.at || high === low) return ''
  const x = (at: number): number => rounded(((at - first.at) / (last.at - first.at)) * WIDTH)
  const y = (value: number): number => rounded(HEIGHT - MARGIN - ((value - low) / (high - low)) * (HEIGHT - 2 * MARGIN))
  return points.map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${x(at)} ${y(value)}`).join('')
}
