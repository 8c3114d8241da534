// esbuild keeps the names of classes by calls of a helper, and has no option to leave out those for functions, which run
// each time when the code around a function runs: a tenth of the CPU time of a request.
import ts from 'typescript'

const HELPER = '__name'

/** The calls of the helper for functions: the text before and after the function, as positions. */
function callsIn(source) {
  const calls = []
  const visit = (node) => {
    if (isHelperCall(node)) {
      const [target, name] = node.arguments
      const isFunction = ts.isArrowFunction(target) || ts.isFunctionExpression(target)
      // The statement after a declaration that has the name anyway.
      const isRepeated = ts.isIdentifier(target) && target.text === name.text && ts.isExpressionStatement(node.parent)
      if (isFunction) calls.push([node.getStart(source), target.getStart(source)], [target.end, node.end])
      if (isRepeated) calls.push([node.getStart(source), node.end])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return calls
}

const isHelperCall = (node) =>
  ts.isCallExpression(node) &&
  ts.isIdentifier(node.expression) &&
  node.expression.text === HELPER &&
  node.arguments.length === 2 &&
  ts.isStringLiteral(node.arguments[1])

/** Replaces the calls by spaces, so that all positions, and the source map, stay what they are. */
export function leaveOutNamesOfFunctions(code) {
  if (!code.includes(`${HELPER}(`)) return code
  const source = ts.createSourceFile('bundle.js', code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const cuts = callsIn(source).sort(([one], [other]) => one - other)
  let result = ''
  let end = 0
  for (const [from, to] of cuts) {
    result += code.slice(end, from) + blank(code.slice(from, to))
    end = to
  }
  return result + code.slice(end)
}

/** A function stays in brackets, whose lines may end anywhere. */
function blank(text) {
  const spaces = text.replaceAll(/[^\n]/g, ' ')
  if (text.endsWith(')')) return text.startsWith(',') ? `${spaces.slice(0, -1)})` : spaces
  const open = text.indexOf('(')
  return `${spaces.slice(0, open)}(${spaces.slice(open + 1)}`
}
