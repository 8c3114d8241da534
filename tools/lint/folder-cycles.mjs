// Finds cycles between the folders of a package.
// dependency-cruiser reads the imports, those of types included. Its own folder rule counts what is in a subfolder as
// part of the parent; here each folder stands for the files directly in it, so that a parent and its child count too.
import { dirname } from 'node:path'

/** Tests see everything; `src/index.ts` is the public interface of a package, not a part of a folder. */
const NOT_COUNTED = /\.test\.ts$|\/fixtures\/|\.d\.ts$|\/src\/index\.ts$/

/**
 * The strongly connected groups of folders, each sorted.
 * @param {{ source: string, dependencies: { resolved: string }[] }[]} modules of dependency-cruiser
 */
export function folderCycles(modules) {
  const graph = new Map()
  for (const { source, dependencies } of modules) {
    if (NOT_COUNTED.test(source)) continue
    const from = dirname(source)
    const targets = graph.get(from) ?? new Set()
    graph.set(from, targets)
    for (const { resolved } of dependencies)
      if (!resolved.includes('node_modules') && !NOT_COUNTED.test(resolved) && dirname(resolved) !== from)
        targets.add(dirname(resolved))
  }
  return stronglyConnected(graph).filter((group) => group.length > 1)
}

/** Tarjan's algorithm. */
function stronglyConnected(graph) {
  const order = new Map()
  const lowest = new Map()
  const stack = []
  const groups = []
  const visit = (node) => {
    order.set(node, order.size)
    lowest.set(node, order.get(node))
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(node, Math.min(lowest.get(node), lowest.get(next)))
    }
    if (lowest.get(node) === order.get(node)) groups.push(stack.splice(stack.indexOf(node)).toSorted())
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return groups
}
