// Bundles the declarations of a module into one file that imports no other package.
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import ts from 'typescript'

const PRINT_FLAGS = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias

const LANGUAGE = dirname(ts.getDefaultLibFilePath({}))
const fileOf = (node) => node.getSourceFile().fileName
/** Declarations of the language and the browser exist in every project. */
const isBuiltIn = (node) => dirname(fileOf(node)) === LANGUAGE || /\/@types\/node\//.test(fileOf(node))
const isOurs = (node) => fileOf(node).includes('/dist/') && !fileOf(node).includes('/node_modules/')
const isDeclaration = (node) =>
  ts.isTypeAliasDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node)

/** True for a type that is inferred from a schema or a constant: the resolved type is printed, as the source is not bundled. */
const isWorkedOut = (node) =>
  ts.isTypeAliasDeclaration(node) && /\bz\.(infer|input|output)\b|\btypeof\b/.test(node.type.getText())

const commentOf = (node) => {
  const [first] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  return first ? `${first.getText()}\n` : ''
}

/** Collects a declaration and the declarations that it refers to. */
class Roller {
  texts = new Map()

  constructor(checker) {
    this.checker = checker
  }

  meant(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol
  }

  add(symbol) {
    const declarations = (symbol.declarations ?? []).filter(isDeclaration)
    if (this.texts.has(symbol) || declarations.length === 0 || declarations.every(isBuiltIn)) return
    const foreign = declarations.find((node) => !isOurs(node))
    if (foreign) throw new Error(`the public type ${symbol.name} comes from ${fileOf(foreign)}`)
    for (const { name } of this.texts.keys())
      if (name === symbol.name) throw new Error(`two public types are named ${name}`)
    // Registered before it is printed: types may refer to each other in cycles.
    this.texts.set(symbol, '')
    this.texts.set(symbol, declarations.map((node) => this.print(node)).join('\n'))
  }

  print(node) {
    if (isWorkedOut(node)) {
      const printed = this.checker.typeToString(this.checker.getTypeAtLocation(node.name), node, PRINT_FLAGS)
      return `${commentOf(node)}type ${node.name.text} = ${printed}`
    }
    const visit = (child) => {
      const symbol = ts.isIdentifier(child) && this.checker.getSymbolAtLocation(child)
      if (symbol) this.add(this.meant(symbol))
      ts.forEachChild(child, visit)
    }
    ts.forEachChild(node, visit)
    const text = node.getText().replace(/^export (default )?/, '')
    return commentOf(node) + (/^(declare|type|interface)\b/.test(text) ? text : `declare ${text}`)
  }
}

const isValue = (symbol, target) =>
  (target.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Function)) !== 0 &&
  !(symbol.declarations ?? []).some(ts.isTypeOnlyExportDeclaration)

/** `entry`: a compiled `.d.ts`; `outFile`: where the one file goes. Throws when a type of another package is public. */
export function rollTypes(entry, outFile) {
  const program = ts.createProgram([entry], {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    strict: true,
    types: [],
  })
  const source = program.getSourceFile(entry)
  if (!source) throw new Error(`${entry} is not there; run "tsc -b" first`)
  const roller = new Roller(program.getTypeChecker())
  const exports = { values: [], types: [] }
  for (const symbol of roller.checker.getExportsOfModule(roller.checker.getSymbolAtLocation(source))) {
    const target = roller.meant(symbol)
    roller.add(target)
    exports[isValue(symbol, target) ? 'values' : 'types'].push(symbol.name)
  }
  const ends = [`export { ${exports.values.join(', ')} }`, `export type { ${exports.types.join(', ')} }`]
  writeFileSync(outFile, [...roller.texts.values(), ...ends].join('\n\n') + '\n')
}
