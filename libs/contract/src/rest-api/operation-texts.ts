import type { Operation } from './routes.js'

/** The tags of the document, in its order. */
export const TAGS: Readonly<Record<string, string>> = {
  Sessions: 'Rooms in which participants exchange media.',
  Connections: 'Participants of a session, their tokens and streams.',
  Signals: 'Messages from the server side to participants.',
  Recordings: 'Recordings of sessions and their files.',
  'Media nodes': 'The machines that forward media. Paid editions.',
  'Speech to text': 'Language models on media nodes. Paid editions.',
  Service: 'Configuration, health and restart.',
  Events: 'Events that a webhook could not deliver, and call detail records.',
  'Deprecated paths': 'Paths without `/service`; `SUPPORT_DEPRECATED_API=false` switches them off.',
}

/** What each operation does beyond its summary. */
export const OPERATION_TEXTS: Readonly<Record<Operation, string>> = {
  createSession:
    'All members are optional. The session has no media node until its first participant joins. A session that no participant joins is removed after `SERVICE_SESSIONS_GARBAGE_THRESHOLD`.',
  getSession: 'Lists the active connections with their streams and subscriptions.',
  listSessions: 'The answer is streamed and shows each session as `GET` of that session does.',
  deleteSession:
    'Evicts every participant with the reason `sessionClosedByServer`, ends the recordings and sends `sessionDestroyed`.',
  createConnection:
    'For WEBRTC the answer holds a `token`, which lets one client join, once. For IPCAM the service reads the camera and publishes its stream.',
  getConnection: 'A missing session is a 400, a missing connection a 404.',
  listConnections: 'Active and pending connections; `pendingConnections=false` leaves out the pending ones.',
  updateConnection:
    'Members that are absent stay as they are. The client receives one `connectionPropertyChanged` for each changed member.',
  deleteConnection:
    'Ends the streams and subscriptions of an active connection with the reason `forceDisconnectByServer`; the token of a pending one becomes invalid. A missing session is a 400.',
  deleteStream:
    'Subscribers receive `streamDestroyed` with the reason `forceUnpublishByServer`; the participant stays. A missing session is a 400.',
  startRecording:
    'Answers when the file exists and has data. Members that are absent take the defaults of the session. Without a free recorder or enough disk space the answer is 503 with `Retry-After`.',
  stopRecording:
    'In paid editions the answer is `stopped`, and `recordingStatusChanged` announces `ready` once the file is processed; else it is `ready`.',
  getRecording: '`size`, `duration` and `url` are final when the status is `ready`.',
  listRecordings: 'The answer is streamed, newest recordings last.',
  deleteRecording: 'Removes all files of the recording. A recording that has not been stopped is a 409.',
  sendSignal:
    'A participant without a connection may miss the signal. Any id in `to` that is no active connection of the session makes the call a 406.',
  getConfiguration: 'The values in force; members of a feature are present while it is on, secrets never are.',
  getHealth:
    'UP: all media nodes are connected. UNSTABLE: some are missing. DOWN: none is there, or the database or the bus is away. Several masters answer with `clusterStatus` and `nodes`.',
  restart:
    'Checks every member, stores the changes for all masters and answers; then each master ends its sessions and starts again with the new values. A 400 names each bad property, and nothing changes.',
  listConfigurationOverrides:
    'Properties that restarts have changed, with the values in force. Secrets are shown as `***`.',
  dropConfigurationOverrides:
    'Removes all overrides; then each master restarts with the configuration of the environment. Without an override nothing happens.',
  dropConfigurationOverride: "Removes one override; then each master restarts with the environment's value.",
  loadLanguageModel: 'Needs `SERVICE_PRO_SPEECH_TO_TEXT` with an engine that manages models.',
  unloadLanguageModel: 'Frees the memory of the model. A model that is in use is a 405.',
  createToken: 'An earlier form of creating a connection.',
  listDeadLetters: 'Events that were posted for a day without a 2xx answer.',
  replayDeadLetters: 'Puts all given-up events back into the queue of the webhook.',
  replayDeadLetter: 'Puts one given-up event back into the queue of the webhook.',
  deleteDeadLetters: 'Removes all given-up events.',
  deleteDeadLetter: 'Removes one given-up event.',
  listCallRecords: 'Names of the files that `SERVICE_CDR` writes.',
  getCallRecords: 'One JSON object per line, `{"<event>": {...}}`.',
  listMediaNodes: 'Media nodes that run, start, or drain; `load` is that of the last heartbeat.',
  getMediaNode: 'Query parameters add sessions, recordings and details of the media server.',
  addMediaNode:
    'On premises, `uri` names a media node that runs and waits (`MEDIA_NODE_JOIN=false`). Elsewhere the environment launches one.',
  discoverMediaNodes: 'Takes in every media node whose heartbeats arrive and that is not in the cluster yet.',
  updateMediaNode:
    '`waiting-idle-to-terminate` drains the node, `running` cancels that, `terminating` ends it. A transition that does not exist is a 400.',
  removeMediaNode:
    '`if-no-sessions` (default) refuses a busy node, `when-no-sessions` drains it, `now` ends it; its sessions go on elsewhere.',
}
