import { API_PREFIX } from '../../platform/http/api.js'

const BASE = `/${API_PREFIX.replace(/^\//, '')}/docs`

/** Swagger UI for the OpenAPI document: a page to read it and to try its operations. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Session Service REST API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${BASE}/swagger-ui.css">
<style>body { margin: 0 } .swagger-ui .topbar { display: none }</style>
<div id="docs"></div>
<script src="${BASE}/swagger-ui-bundle.js"></script>
<script src="${BASE}/page.js"></script>
</html>
`

export const DOCS_SCRIPT = `'use strict'
SwaggerUIBundle({
  url: '${BASE}/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`
