import { openApiDocument } from '@session-service/contract/rest-api'
import { Controller, Get, Header } from '@nestjs/common'
import { VERSION } from '../../configuration/version.js'
import { API_PREFIX } from '../api.js'
import { DOCS_PAGE, DOCS_SCRIPT } from './docs-page.js'

const ONLY_OURS = "default-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/** The documentation of the API, behind its credentials like all else. */
@Controller(`${API_PREFIX}/docs`)
export class DocsController {
  private readonly document = openApiDocument(VERSION)

  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', ONLY_OURS)
  page(): string {
    return DOCS_PAGE
  }

  @Get('page.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return DOCS_SCRIPT
  }

  @Get('openapi.json')
  openApi(): Record<string, unknown> {
    return this.document
  }
}
