/** Multiplies each time-out that a test or hook of a jest-circus describe block names; the default stays as configured. */
export function scaleTimeouts(block, factor) {
  for (const item of [...block.hooks, ...block.tests]) if (item.timeout !== undefined) item.timeout *= factor
  for (const child of block.children) if (child.type === 'describeBlock') scaleTimeouts(child, factor)
}
