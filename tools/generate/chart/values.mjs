// Reads values.yaml: the values, and the comments that document them.
import { parseYaml } from '@redocly/openapi-core'

const KEY = /^( *)([A-Za-z][\w.-]*|'[^']+'):(.*)$/

/**
 * The documented values of values.yaml, in its order: `[{ path: ['nats', 'enabled'], text, value }]`. A comment `# -- …`
 * documents the value of the next line, with everything below it.
 */
export function documentedValues(source) {
  const all = parseYaml(source)
  const found = []
  let path = []
  let text
  for (const line of source.split('\n')) {
    const comment = /^ *# -- (.*)$/.exec(line)
    const key = KEY.exec(line)
    if (comment) text = comment[1]
    else if (key) {
      const [, indent = '', name = ''] = key
      path = [...path.slice(0, indent.length / 2), name]
      if (text !== undefined) found.push({ path, text, value: path.reduce((value, part) => value[part], all) })
      text = undefined
    }
  }
  return found
}

/** The paths of values without documentation: neither documented themselves nor below a documented one. */
export function undocumentedPaths(source) {
  const documented = new Set(documentedValues(source).map(({ path }) => path.join('.')))
  const walk = (value, path) => {
    if (documented.has(path.join('.'))) return []
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isGroup && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, each]) => walk(each, [...path, name]))
      : [path.join('.')]
  }
  return walk(parseYaml(source), [])
}
