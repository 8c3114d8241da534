import type { Operation } from './routes.js'

/** The tags in the order of the document. */
export const TAGS: Readonly<Record<string, string>> = {
  Sessions: 'Rooms in which participants exchange media.',
  Connections: 'Participants of a session, their tokens and streams.',
  Signals: 'Messages from the server side to participants.',
  Recordings: 'Recordings of sessions and their files.',
  'Media nodes': 'The machines that forward media. Paid editions.',
  'Speech to text': 'Language models on media nodes, and transcripts. Paid editions.',
  Service: 'Configuration, health and restart.',
  Events: 'Events that a webhook could not deliver, and call detail records.',
  History: 'Ended sessions, kept for a while. Addition to the contract.',
  'Deprecated paths': 'Paths without `/service`; `SUPPORT_DEPRECATED_API=false` switches them off.',
}

/** The descriptions of the operations, in addition to their summaries. */
export const OPERATION_TEXTS: Readonly<Record<Operation, string>> = {
  createSession:
    'All members are optional. The session has no media node until its first participant joins. A session that no participant joins is removed after `SERVICE_SESSIONS_GARBAGE_THRESHOLD`. Beyond `SERVICE_SESSIONS_MAX_CONCURRENT` the answer is 503 with `Retry-After`.',
  getSession: 'Includes the active connections with their streams and subscriptions.',
  listSessions: 'The answer is streamed. Each element has the form of a single session.',
  deleteSession:
    'Evicts every participant with the reason `sessionClosedByServer`, ends the recordings and sends `sessionDestroyed`.',
  createConnection:
    'For WEBRTC the answer contains a single-use `token`, with which one client joins. For IPCAM the answer comes when a media node has read the camera, after at most 15 s on a working node, and the connection is `active`. When the camera cannot be read, the answer is 500 with the cause, and no client or backend notices anything; when the camera fails later, the service tries again for as long as the connection exists, and `cameraStatus` and `cameraError` show its state.',
  getConnection: 'A missing session is a 400, a missing connection a 404.',
  listConnections: 'Active and pending connections; `pendingConnections=false` leaves out the pending ones.',
  updateConnection:
    'Absent members keep their value. The client receives one `connectionPropertyChanged` for each changed member.',
  deleteConnection:
    'Ends the streams and subscriptions of an active connection with the reason `forceDisconnectByServer`; the token of a pending one becomes invalid. A missing session is a 400.',
  deleteStream:
    'Subscribers receive `streamDestroyed` with the reason `forceUnpublishByServer`; the participant stays. A missing session is a 400.',
  startRecording:
    'Answers when the file exists and has data. Absent members take the defaults of the session. Without a free recorder or enough disk space, and beyond `SERVICE_RECORDING_MAX_CONCURRENT`, the answer is 503 with `Retry-After`.',
  stopRecording:
    'In paid editions the answer is `stopped`, and `recordingStatusChanged` announces `ready` once the file is processed; else it is `ready`.',
  getRecording: '`size`, `duration` and `url` are final when the status is `ready`.',
  listRecordings: 'The answer is streamed, newest recordings last.',
  deleteRecording: 'Removes all files of the recording. A recording that has not been stopped is a 409.',
  sendSignal:
    'Delivery is not guaranteed to a participant whose socket is closed. One invalid id in `to` is a 406 for the whole request.',
  getConfiguration:
    'Current values of the configuration properties. Members of a feature are present while it is enabled. Secrets are never included.',
  getHealth:
    'UP: all media nodes are connected. UNSTABLE: some are missing. DOWN: none is connected, the database is unreachable or accepts no writes, or the message bus is unreachable. Several masters answer with `clusterStatus` and `nodes`.',
  restart:
    'Validates every member, stores the changes for all masters and answers; then each master ends its sessions and restarts with the new values. A 400 names each invalid property and changes nothing.',
  listConfigurationOverrides:
    'Overrides are properties that restarts have changed. Shows their current values, secrets as `***`.',
  dropConfigurationOverrides:
    'Deletes all overrides; then each master restarts with the configuration of its environment. Without an override nothing happens.',
  dropConfigurationOverride: 'Deletes one override; then each master restarts with the value of its environment.',
  loadLanguageModel:
    'Answered when the model is loaded, after up to 70 s. A model that is loaded this way stays until it is unloaded. With `SERVICE_PRO_SPEECH_TO_TEXT_MODEL_LOAD_STRATEGY=manual` clients can use loaded models only. A client that disconnects does not cancel the load; `languageModels` of the media node shows its progress.',
  unloadLanguageModel: 'Ends the process of the model, which frees its memory.',
  startTranscription:
    'Recognizes the speech of all participants, present and later, without a subscription of a client; the sentences are in the transcript of the session. Needs `SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS`. Another language replaces the former one. The transcription is kept when the session moves to another media node, and starts with the first participant of a session without one; then the model is not checked before. Ends with the session.',
  getTranscription: 'The language in which the whole session is transcribed. Subscriptions of clients do not count.',
  stopTranscription: 'Subscriptions of clients, and the sentences that are stored already, stay.',
  getTranscript:
    'Sentences that were recognized while `SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS` was true, of live and ended sessions, kept for `SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS_RETENTION` days. Speech is recognized while at least one client subscribes to it, or while the whole session is transcribed. Sentences appear within seconds; at most once each.',
  getTranscriptVtt:
    'Cues have times since the creation of the session and the name of the speaker: its client data if that is a short line, else its connection id.',
  getTranscriptText: 'One line for each sentence: time since the creation of the session, speaker, text.',
  searchTranscripts: 'Full-text search by words, independent of the language. Without parameters: all sentences.',
  createToken: 'An earlier form of creating a connection.',
  listDeadLetters: 'Events that the webhook endpoint did not accept (2xx) within a day of retries.',
  replayDeadLetters: 'Returns all dead letters to the queue of the webhook.',
  replayDeadLetter: 'Returns one dead letter to the queue of the webhook.',
  deleteDeadLetters: 'Deletes all dead letters.',
  deleteDeadLetter: 'Deletes one dead letter.',
  listCallRecords: 'Names of the files that `SERVICE_CDR` writes.',
  getCallRecords: 'One JSON object per line, `{"<event>": {...}}`.',
  listEndedSessions:
    'Sessions that ended while `SERVICE_HISTORY` was true, for `SERVICE_HISTORY_RETENTION` days. A session appears within seconds of its end.',
  getEndedSession:
    'A user has the connections from one address with one platform. Recordings show their last status: one may become `ready` after the end of its session.',
  deleteEndedSession: 'Recordings, transcripts and call records of the session stay.',
  listMediaNodes:
    'Includes media nodes that start, run or drain. `load` and `languageModels` are from the last heartbeat.',
  getMediaNode: 'Query parameters add sessions, recordings and details of the media server.',
  addMediaNode:
    'On premises, `uri` names a running media node that waits to be added (`MEDIA_NODE_JOIN=false`). In other environments a new one is launched.',
  discoverMediaNodes: 'Adds every media node whose heartbeats arrive and that is not in the cluster yet.',
  updateMediaNode:
    '`waiting-idle-to-terminate` drains the node, `running` cancels that, `terminating` ends it. A transition that does not exist is a 400.',
  removeMediaNode:
    '`if-no-sessions` (default) refuses a busy node, `when-no-sessions` drains it, `now` ends it; its sessions move to other nodes.',
}
