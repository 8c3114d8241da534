/** On the wire a signal's type always has its prefix, also when it was given without: `signal` or `signal:<type>`. */
export const prefixedType = (type: string | undefined): string =>
  type === undefined || type === '' || type === 'signal'
    ? 'signal'
    : type.startsWith('signal:')
      ? type
      : `signal:${type}`
