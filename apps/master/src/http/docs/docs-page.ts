/** A page to read the OpenAPI document and to try its operations; all it needs comes from this server. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>REST API</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2330; background: #fff }
details { border: 1px solid #d5dae3; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer } summary code { font-weight: 600 }
.deprecated summary { text-decoration: line-through; opacity: .7 }
label { display: block; margin: .4rem 0 } input, textarea { font: 13px monospace; width: 100%; box-sizing: border-box }
textarea { min-height: 8rem } pre { background: #f3f5f9; padding: .6rem; overflow: auto; max-height: 24rem }
</style>
<h1>REST API</h1>
<p><a href="/service/api/docs/openapi.json">openapi.json</a></p>
<main></main>
<script src="/service/api/docs/page.js"></script>
</html>
`

export const DOCS_SCRIPT = `'use strict'
const make = (tag, text = '', members = {}) => Object.assign(document.createElement(tag), { textContent: text }, members)
const resolve = (document, schema = {}) =>
  schema.$ref ? document.components.schemas[schema.$ref.split('/').pop()] : schema

function example(document, schema) {
  const found = resolve(document, schema)
  const members = Object.entries(found.properties ?? {})
  return Object.fromEntries(members.filter(([, one]) => one.default !== undefined).map(([name, one]) => [name, one.default]))
}

function fields(operation) {
  return (operation.parameters ?? []).map((parameter) => {
    const input = make('input')
    const label = make('label', parameter.name + (parameter.required ? '' : ' (optional)'))
    label.append(input)
    return { parameter, input, label }
  })
}

async function send(method, path, inputs, body) {
  let url = path
  const query = new URLSearchParams()
  for (const { parameter, input } of inputs) {
    if (parameter.in === 'path') {
      if (/^\\.{0,2}$/.test(input.value)) throw new Error(parameter.name + ' is missing')
      url = url.replace('{' + parameter.name + '}', encodeURIComponent(input.value))
    }
    else if (input.value !== '') query.set(parameter.name, input.value)
  }
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await fetch(url + (query.size ? '?' + query : ''), { method, headers, body })
  const text = await answer.text()
  let shown = text
  try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch { /* not JSON: as it is */ }
  return answer.status + ' ' + answer.statusText + '\\n' + shown
}

function show(document_, path, method, operation) {
  const box = make('details', '', { className: operation.deprecated ? 'deprecated' : '' })
  const head = make('summary')
  head.append(make('code', method.toUpperCase() + ' ' + path), ' ' + operation.summary)
  box.append(head)
  if (operation.description) box.append(make('p', operation.description))
  const inputs = fields(operation)
  box.append(...inputs.map(({ label }) => label))
  const schema = operation.requestBody?.content['application/json'].schema
  const body = schema && make('textarea', '', { value: JSON.stringify(example(document_, schema), null, 2) })
  if (body) box.append(body)
  const result = make('pre', Object.entries(operation.responses).map(([status, { description }]) => status + ' ' + description).join('\\n'))
  const button = make('button', 'Send')
  button.onclick = async () => {
    result.textContent = '…'
    result.textContent = await send(method.toUpperCase(), path, inputs, body?.value).catch(String)
  }
  if (schema) {
    const details = make('details')
    details.append(make('summary', 'Schema of the body'), make('pre', JSON.stringify(resolve(document_, schema), null, 2)))
    box.append(details)
  }
  box.append(button, result)
  return box
}

async function main() {
  const api = await (await fetch('/service/api/docs/openapi.json')).json()
  const tags = new Map()
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const [tag] = operation.tags
      tags.set(tag, [...(tags.get(tag) ?? []), show(api, path, method, operation)])
    }
  for (const [tag, boxes] of tags) document.querySelector('main').append(make('h2', tag), ...boxes)
}
main()
`
