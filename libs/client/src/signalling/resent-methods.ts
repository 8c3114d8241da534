import type { SignallingMethod } from '@session-service/contract'

/** Idempotent methods, which the client sends again when the socket closed before the answer. */
export const IDEMPOTENT: ReadonlySet<SignallingMethod> = new Set([
  'connectTransport',
  'restartIce',
  'rejoin',
  'unpublish',
  'changeStream',
  'subscribe',
  'unsubscribe',
  'changeSubscription',
  'addFilterEventListener',
  'removeFilterEventListener',
  'subscribeToSpeechToText',
  'unsubscribeFromSpeechToText',
  'forceDisconnect',
  'forceUnpublish',
] as const)

/** Their target is gone after the first execution, so that the server does not find it when they are sent again. */
export const ENDING: ReadonlySet<SignallingMethod> = new Set(['forceDisconnect', 'forceUnpublish'] as const)
