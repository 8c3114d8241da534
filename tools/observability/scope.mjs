/** Series of the service in an expression, with or without matchers; not the names of labels. */
const SERIES = /\b(session_service[_:][\w:]+|up|process_\w+|nodejs_\w+)(?:\{([^}]*)\})?(?=[\s)[,]|$)/g

/** The expression with additional matchers on each series: `scoped('a_b', 'cluster="x"')`. */
export const scoped = (expr, matchers) =>
  matchers ? expr.replaceAll(SERIES, (_, name, own) => `${name}{${own ? `${own},` : ''}${matchers}}`) : expr
