/** The text that a host of test files writes to its streams after each file: no test prints it. */
export const END = '\u0004'
