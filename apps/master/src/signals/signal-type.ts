/** The type in the event of a client's signal: without its prefix, as in the lineage. */
export const typeInEvent = (prefixed: string): string => prefixed.replace(/^signal:/, '')

/** On the wire a signal's type always has its prefix, also when it was given without: `signal` or `signal:<type>`. */
export const prefixedType = (type: string | undefined): string =>
  type === undefined || type === '' || type === 'signal'
    ? 'signal'
    : type.startsWith('signal:')
      ? type
      : `signal:${type}`
