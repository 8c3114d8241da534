// What test files import from '@jest/globals' in a process of run-file.mjs, which sets it before.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  globalThis[Symbol.for('session-service.test-globals')]
