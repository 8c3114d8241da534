/** What a host of test files writes to its streams after each file: no test prints this. */
export const END = '\u0004'
