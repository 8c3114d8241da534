// Lints docs/api/openapi.json with the strict rules of Redocly: node tools/test/lint-openapi.mjs [file]
import { resolve } from 'node:path'
import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core'

const ROOT = resolve(import.meta.dirname, '../..')

/** Problems of the document; every rule is an error unless the comment beside it says why it does not hold here. */
export async function lintOpenApi(file) {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'operation-description': 'error',
      'operation-operationId-unique': 'error',
      'operation-singular-tag': 'error',
      'parameter-description': 'error',
      'tag-description': 'error',
      'no-invalid-media-type-examples': 'error',
      'no-invalid-schema-examples': 'error',
      'no-unused-components': 'error',
      // The document is served by the server that it describes.
      'no-server-example.com': 'off',
      // The paths of the interface are fixed: GET /recordings/{id} lies beside POST /recordings/start.
      'no-ambiguous-paths': 'off',
    },
  })
  return lint({ ref: file, config })
}

if (import.meta.main) {
  const problems = await lintOpenApi(resolve(process.argv[2] ?? resolve(ROOT, 'docs/api/openapi.json')))
  const totals = getTotals(problems)
  if (problems.length > 0)
    formatProblems(problems, { totals, format: 'codeframe', maxProblems: 50, cwd: ROOT, version: '' })
  process.exitCode = problems.length === 0 ? 0 : 1
}
