/** `until` waits longer than its limit on a busy machine; it should fail before the test around it, because it says why. */
const PATIENCE = 2

/** Multiplies each explicit timeout of the tests and hooks of a jest-circus describe block; the default timeout stays. */
export function scaleTimeouts(block, factor) {
  for (const item of [...block.hooks, ...block.tests]) if (item.timeout !== undefined) item.timeout *= factor
  for (const child of block.children) if (child.type === 'describeBlock') scaleTimeouts(child, factor)
}

/** Multiplies the default time-out of a run of jest-circus and all explicit ones, for a machine of this slowness. */
export function scaleState(state, slowness = Number(process.env.TEST_SLOWNESS ?? 1)) {
  const factor = PATIENCE * slowness
  state.testTimeout *= factor
  scaleTimeouts(state.rootDescribeBlock, factor)
}
