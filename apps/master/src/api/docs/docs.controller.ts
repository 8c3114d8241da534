import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { configurationSchema, restartSchema } from '@session-service/config'
import { openApiDocument } from '@session-service/contract/rest-api'
import { Controller, Get, Header, StreamableFile } from '@nestjs/common'
import { VERSION } from '../../platform/config/version.js'
import { API_PREFIX } from '../../platform/http/api.js'
import { DOCS_PAGE, DOCS_SCRIPT } from './docs-page.js'

/** Everything comes from this server. Swagger UI sets inline styles and loads its icons from data: URLs. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const asset = (name: string): StreamableFile => new StreamableFile(createReadStream(join(SWAGGER_UI, name)))

/** The documentation of the API, which needs credentials as all routes do. */
@Controller(`${API_PREFIX}/docs`)
export class DocsController {
  #document: Record<string, unknown> | undefined

  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', CONTENT_SECURITY_POLICY)
  page(): string {
    return DOCS_PAGE
  }

  @Get('page.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return DOCS_SCRIPT
  }

  @Get('swagger-ui.css')
  @Header('content-type', 'text/css; charset=utf-8')
  styles(): StreamableFile {
    return asset('swagger-ui.css')
  }

  @Get('swagger-ui-bundle.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  bundle(): StreamableFile {
    return asset('swagger-ui-bundle.js')
  }

  @Get('openapi.json')
  openApi(): Record<string, unknown> {
    // On demand: it takes a tenth of the processor time of a start.
    this.#document ??= openApiDocument(VERSION, { view: configurationSchema(), restart: restartSchema() })
    return this.#document
  }
}
