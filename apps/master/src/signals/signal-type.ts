/** The type in the event of a client's signal: without the prefix, as in the lineage. */
export const typeInEvent = (prefixed: string): string => prefixed.replace(/^signal:/, '')

/** The type on the wire: `signal` or `signal:<type>`. */
export const prefixedType = (type: string | undefined): string =>
  type === undefined || type === '' || type === 'signal'
    ? 'signal'
    : type.startsWith('signal:')
      ? type
      : `signal:${type}`
