import type { Operation } from '@session-service/contract/rest-api'
import { type BodyOf, call, type CallOptions, type QueryOf, type ResultOf } from './call.js'
import { type RestClientOptions, Transport } from './transport.js'

/** The service answers a load within 70 s. */
const LOAD_TIMEOUT_MS = 75_000
/** The ce edition answers a stop with the finished file, within ten minutes. */
const STOP_TIMEOUT_MS = 610_000

type Result<O extends Operation> = Promise<ResultOf<O>>
/** Makes the compiler check that every operation has a method. */
type Complete = { [O in Operation]: (...args: never[]) => Result<O> }

/** The REST API with one method for each operation, typed by the schemas of the service; answers are validated. */
export class RestClient implements Complete {
  /** Sends requests without a method of their own. */
  readonly transport: Transport

  constructor(options: RestClientOptions) {
    this.transport = new Transport(options)
  }

  createSession(body: BodyOf<'createSession'> = {}, options?: CallOptions): Result<'createSession'> {
    return call(this.transport, 'createSession', { body, ...options })
  }
  getSession(sessionId: string, query?: QueryOf<'getSession'>, options?: CallOptions): Result<'getSession'> {
    return call(this.transport, 'getSession', { path: { sessionId }, query, ...options })
  }
  listSessions(query?: QueryOf<'listSessions'>, options?: CallOptions): Result<'listSessions'> {
    return call(this.transport, 'listSessions', { query, ...options })
  }
  deleteSession(sessionId: string, options?: CallOptions): Result<'deleteSession'> {
    return call(this.transport, 'deleteSession', { path: { sessionId }, ...options })
  }

  createConnection(
    sessionId: string,
    body: BodyOf<'createConnection'> = {},
    options?: CallOptions,
  ): Result<'createConnection'> {
    return call(this.transport, 'createConnection', { path: { sessionId }, body, ...options })
  }
  getConnection(sessionId: string, connectionId: string, options?: CallOptions): Result<'getConnection'> {
    return call(this.transport, 'getConnection', { path: { sessionId, connectionId }, ...options })
  }
  listConnections(
    sessionId: string,
    query?: QueryOf<'listConnections'>,
    options?: CallOptions,
  ): Result<'listConnections'> {
    return call(this.transport, 'listConnections', { path: { sessionId }, query, ...options })
  }
  updateConnection(
    sessionId: string,
    connectionId: string,
    body: BodyOf<'updateConnection'>,
    options?: CallOptions,
  ): Result<'updateConnection'> {
    return call(this.transport, 'updateConnection', { path: { sessionId, connectionId }, body, ...options })
  }
  deleteConnection(sessionId: string, connectionId: string, options?: CallOptions): Result<'deleteConnection'> {
    return call(this.transport, 'deleteConnection', { path: { sessionId, connectionId }, ...options })
  }
  deleteStream(sessionId: string, streamId: string, options?: CallOptions): Result<'deleteStream'> {
    return call(this.transport, 'deleteStream', { path: { sessionId, streamId }, ...options })
  }

  startRecording(body: BodyOf<'startRecording'>, options?: CallOptions): Result<'startRecording'> {
    return call(this.transport, 'startRecording', { body, ...options })
  }
  stopRecording(recordingId: string, options?: CallOptions): Result<'stopRecording'> {
    return call(this.transport, 'stopRecording', {
      path: { recordingId },
      ...options,
      timeoutMs: options?.timeoutMs ?? STOP_TIMEOUT_MS,
    })
  }
  getRecording(recordingId: string, options?: CallOptions): Result<'getRecording'> {
    return call(this.transport, 'getRecording', { path: { recordingId }, ...options })
  }
  listRecordings(options?: CallOptions): Result<'listRecordings'> {
    return call(this.transport, 'listRecordings', { ...options })
  }
  deleteRecording(recordingId: string, options?: CallOptions): Result<'deleteRecording'> {
    return call(this.transport, 'deleteRecording', { path: { recordingId }, ...options })
  }

  sendSignal(body: BodyOf<'sendSignal'>, options?: CallOptions): Result<'sendSignal'> {
    return call(this.transport, 'sendSignal', { body, ...options })
  }
  listEndedSessions(query?: QueryOf<'listEndedSessions'>, options?: CallOptions): Result<'listEndedSessions'> {
    return call(this.transport, 'listEndedSessions', { query, ...options })
  }
  getEndedSession(uniqueSessionId: string, options?: CallOptions): Result<'getEndedSession'> {
    return call(this.transport, 'getEndedSession', { path: { uniqueSessionId }, ...options })
  }
  deleteEndedSession(uniqueSessionId: string, options?: CallOptions): Result<'deleteEndedSession'> {
    return call(this.transport, 'deleteEndedSession', { path: { uniqueSessionId }, ...options })
  }
  getConfiguration(options?: CallOptions): Result<'getConfiguration'> {
    return call(this.transport, 'getConfiguration', { ...options })
  }
  /** UNSTABLE and DOWN are also successful results. */
  getHealth(options?: CallOptions): Result<'getHealth'> {
    return call(this.transport, 'getHealth', { ...options }, [409, 503])
  }
  restart(body: BodyOf<'restart'> = {}, options?: CallOptions): Result<'restart'> {
    return call(this.transport, 'restart', { body, ...options })
  }
  listConfigurationOverrides(options?: CallOptions): Result<'listConfigurationOverrides'> {
    return call(this.transport, 'listConfigurationOverrides', { ...options })
  }
  dropConfigurationOverrides(options?: CallOptions): Result<'dropConfigurationOverrides'> {
    return call(this.transport, 'dropConfigurationOverrides', { ...options })
  }
  dropConfigurationOverride(property: string, options?: CallOptions): Result<'dropConfigurationOverride'> {
    return call(this.transport, 'dropConfigurationOverride', { path: { property }, ...options })
  }
  loadLanguageModel(body: BodyOf<'loadLanguageModel'>, options?: CallOptions): Result<'loadLanguageModel'> {
    return call(this.transport, 'loadLanguageModel', {
      body,
      ...options,
      timeoutMs: options?.timeoutMs ?? LOAD_TIMEOUT_MS,
    })
  }
  unloadLanguageModel(body: BodyOf<'unloadLanguageModel'>, options?: CallOptions): Result<'unloadLanguageModel'> {
    return call(this.transport, 'unloadLanguageModel', { body, ...options })
  }
  startTranscription(
    sessionId: string,
    body: BodyOf<'startTranscription'>,
    options?: CallOptions,
  ): Result<'startTranscription'> {
    return call(this.transport, 'startTranscription', { path: { sessionId }, body, ...options })
  }
  getTranscription(sessionId: string, options?: CallOptions): Result<'getTranscription'> {
    return call(this.transport, 'getTranscription', { path: { sessionId }, ...options })
  }
  stopTranscription(sessionId: string, options?: CallOptions): Result<'stopTranscription'> {
    return call(this.transport, 'stopTranscription', { path: { sessionId }, ...options })
  }
  getTranscript(sessionId: string, query?: QueryOf<'getTranscript'>, options?: CallOptions): Result<'getTranscript'> {
    return call(this.transport, 'getTranscript', { path: { sessionId }, query, ...options })
  }
  /** Resolves to WebVTT. */
  getTranscriptVtt(
    sessionId: string,
    query?: QueryOf<'getTranscriptVtt'>,
    options?: CallOptions,
  ): Result<'getTranscriptVtt'> {
    return call(this.transport, 'getTranscriptVtt', { path: { sessionId }, query, ...options })
  }
  /** Resolves to one line for each sentence. */
  getTranscriptText(
    sessionId: string,
    query?: QueryOf<'getTranscriptText'>,
    options?: CallOptions,
  ): Result<'getTranscriptText'> {
    return call(this.transport, 'getTranscriptText', { path: { sessionId }, query, ...options })
  }
  searchTranscripts(query?: QueryOf<'searchTranscripts'>, options?: CallOptions): Result<'searchTranscripts'> {
    return call(this.transport, 'searchTranscripts', { query, ...options })
  }
  /** @deprecated Use createConnection. */
  createToken(body: BodyOf<'createToken'>, options?: CallOptions): Result<'createToken'> {
    return call(this.transport, 'createToken', { body, ...options })
  }

  listMediaNodes(query?: QueryOf<'listMediaNodes'>, options?: CallOptions): Result<'listMediaNodes'> {
    return call(this.transport, 'listMediaNodes', { query, ...options })
  }
  getMediaNode(mediaNodeId: string, query?: QueryOf<'getMediaNode'>, options?: CallOptions): Result<'getMediaNode'> {
    return call(this.transport, 'getMediaNode', { path: { mediaNodeId }, query, ...options })
  }
  addMediaNode(
    body: BodyOf<'addMediaNode'> = {},
    query?: QueryOf<'addMediaNode'>,
    options?: CallOptions,
  ): Result<'addMediaNode'> {
    return call(this.transport, 'addMediaNode', { body, query, ...options })
  }
  discoverMediaNodes(options?: CallOptions): Result<'discoverMediaNodes'> {
    return call(this.transport, 'discoverMediaNodes', { ...options })
  }
  /** Resolves to undefined when the node already has the status. */
  updateMediaNode(
    mediaNodeId: string,
    body: BodyOf<'updateMediaNode'>,
    options?: CallOptions,
  ): Result<'updateMediaNode'> {
    return call(this.transport, 'updateMediaNode', { path: { mediaNodeId }, body, ...options }, [204])
  }
  /** Resolves to the terminating or draining node; undefined when it has ended. */
  removeMediaNode(
    mediaNodeId: string,
    query?: QueryOf<'removeMediaNode'>,
    options?: CallOptions,
  ): Result<'removeMediaNode'> {
    return call(this.transport, 'removeMediaNode', { path: { mediaNodeId }, query, ...options }, [202, 204])
  }

  listDeadLetters(options?: CallOptions): Result<'listDeadLetters'> {
    return call(this.transport, 'listDeadLetters', { ...options })
  }
  replayDeadLetters(options?: CallOptions): Result<'replayDeadLetters'> {
    return call(this.transport, 'replayDeadLetters', { ...options })
  }
  replayDeadLetter(eventId: string, options?: CallOptions): Result<'replayDeadLetter'> {
    return call(this.transport, 'replayDeadLetter', { path: { eventId }, ...options })
  }
  deleteDeadLetters(options?: CallOptions): Result<'deleteDeadLetters'> {
    return call(this.transport, 'deleteDeadLetters', { ...options })
  }
  deleteDeadLetter(eventId: string, options?: CallOptions): Result<'deleteDeadLetter'> {
    return call(this.transport, 'deleteDeadLetter', { path: { eventId }, ...options })
  }
  listCallRecords(options?: CallOptions): Result<'listCallRecords'> {
    return call(this.transport, 'listCallRecords', { ...options })
  }
  /** Resolves to one JSON object per line. */
  getCallRecords(file: string, options?: CallOptions): Result<'getCallRecords'> {
    return call(this.transport, 'getCallRecords', { path: { file }, ...options })
  }
}
