import { Readable } from 'node:stream'
import type { TranscriptView } from '@session-service/contract'
import {
  ROUTES,
  type SearchTranscriptsQuery,
  type SessionTranscriptQuery,
  type TranscriptFileQuery,
} from '@session-service/contract/rest-api'
import { Controller, Get, StreamableFile } from '@nestjs/common'
import { Paid } from '../platform/config/edition.js'
import { API_PREFIX } from '../platform/http/api.js'
import { PathParam, QueryParams } from '../platform/http/parsing/parameters.js'
import { TranscriptsService } from './transcripts.service.js'

const fileOf = (parts: AsyncIterable<string>, type: string): StreamableFile =>
  new StreamableFile(Readable.from(parts, { objectMode: false }), { type: `${type}; charset=utf-8` })

@Paid()
@Controller(API_PREFIX)
export class TranscriptsController {
  constructor(private readonly transcripts: TranscriptsService) {}

  @Get('sessions/:sessionId/transcript')
  ofSession(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.getTranscript.query) query: SessionTranscriptQuery,
  ): Promise<TranscriptView> {
    return this.transcripts.ofSession(sessionId, query)
  }

  @Get('sessions/:sessionId/transcript.vtt')
  async vtt(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.getTranscriptVtt.query) query: TranscriptFileQuery,
  ): Promise<StreamableFile> {
    return fileOf(await this.transcripts.vtt(sessionId, query), 'text/vtt')
  }

  @Get('sessions/:sessionId/transcript.txt')
  async text(
    @PathParam('sessionId') sessionId: string,
    @QueryParams(ROUTES.getTranscriptText.query) query: TranscriptFileQuery,
  ): Promise<StreamableFile> {
    return fileOf(await this.transcripts.text(sessionId, query), 'text/plain')
  }

  @Get('transcripts')
  search(@QueryParams(ROUTES.searchTranscripts.query) query: SearchTranscriptsQuery): Promise<TranscriptView> {
    return this.transcripts.search(query)
  }
}
