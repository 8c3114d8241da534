/** As the framework wants it: `*` alone for everybody, else exactly these. */
export const corsOrigin = (origins: readonly string[]): string | string[] =>
  origins.includes('*') ? '*' : [...origins]
