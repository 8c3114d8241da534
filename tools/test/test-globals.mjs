// What test files import from '@jest/globals' in a process of circus.mjs. The bindings are live: modules that several files
// of a process share call those of the file that runs.
export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test

export function setTestGlobals(globals) {
  ;({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globals)
}
