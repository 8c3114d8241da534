import http from 'node:http'

/** Names whose getters load undici, Node's client for the web, and with it HTTP/2 and the streams of the web. */
const OF_UNDICI = ['WebSocket', 'CloseEvent', 'MessageEvent']
const NAMES = Object.keys(http).filter((name) => !OF_UNDICI.includes(name))

/**
 * Node reads all members of a built-in module that an ES module imports. Those of `node:http` load undici: 2 MiB and 70 ms of
 * each process. The bundles take the module without an import.
 */
export const lightHttp = {
  name: 'light-http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'require-call' ? undefined : { path: 'http', namespace: 'light-http' },
    )
    onLoad({ filter: /.*/, namespace: 'light-http' }, () => ({
      contents: [
        "const http = process.getBuiltinModule('node:http')",
        'export default http',
        ...NAMES.map((name) => `export const ${name} = /* @__PURE__ */ (() => http.${name})()`),
      ].join('\n'),
    }))
  },
}
