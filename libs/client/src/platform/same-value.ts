type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null ? (value as Members) : undefined

/** Compares JSON values. The order of the members of an object does not matter. */
export function isSameValue(one: unknown, other: unknown): boolean {
  const [some, others] = [membersOf(one), membersOf(other)]
  if (!some || !others) return one === other
  const names = Object.keys(some)
  return (
    Array.isArray(some) === Array.isArray(others) &&
    names.length === Object.keys(others).length &&
    names.every((name) => Object.hasOwn(others, name) && isSameValue(some[name], others[name]))
  )
}
