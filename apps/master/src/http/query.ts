/** A flag of a query: `true` and `false` in any case; anything else is as if absent. */
export const isTrue = (value: string | undefined, byDefault: boolean): boolean => {
  const text = value?.toLowerCase()
  return text === 'true' ? true : text === 'false' ? false : byDefault
}
