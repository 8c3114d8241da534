import { ServiceError } from '@session-service/contract'

/** The phase of a node between its start and its shutdown. */
export type LifecycleState =
  | { readonly phase: 'running' }
  /** Accepts no new rooms and waits for the present ones; `deadline` in monotonic ms. `final`: it cannot be undrained. */
  | { readonly phase: 'draining'; readonly deadline: number | null; readonly final: boolean }
  /** Its sessions move to other nodes; it delivers its recordings until the deadline. */
  | { readonly phase: 'finishing'; readonly deadline: number; readonly final: boolean }
  /** Closes its rooms and exits. */
  | { readonly phase: 'ending' }

export type LifecycleEvent =
  /** Commands of a master. */
  | { readonly kind: 'drain'; readonly deadline: number | null }
  | { readonly kind: 'undrain' }
  | { readonly kind: 'terminate' }
  /** SIGTERM or SIGINT: the first one drains the node, the second one ends it. */
  | { readonly kind: 'signal'; readonly deadline: number }
  /** A periodic check while the node drains. `finishBy`: until when it may deliver its recordings, if it has any. */
  | { readonly kind: 'tick'; readonly now: number; readonly empty: boolean; readonly finishBy?: number | undefined }

export const RUNNING: LifecycleState = { phase: 'running' }
const ENDING: LifecycleState = { phase: 'ending' }

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

/**
 * The state after an event. All transitions are here.
 * @throws ServiceError CONFLICT for undrain when the shutdown is final
 */
export function nextLifecycleState(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  switch (state.phase) {
    case 'running':
      return whenRunning(state, event)
    case 'draining':
      return whenDraining(state, event)
    case 'finishing':
      return whenFinishing(state, event)
    case 'ending':
      if (event.kind === 'undrain') throw shutdownIsFinal()
      return state
  }
}

function whenRunning(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  switch (event.kind) {
    case 'drain':
    case 'signal':
      return { phase: 'draining', deadline: event.deadline, final: event.kind === 'signal' }
    case 'terminate':
      return ENDING
    case 'undrain':
    case 'tick':
      return state
  }
}

function whenDraining(state: Extract<LifecycleState, { phase: 'draining' }>, event: LifecycleEvent): LifecycleState {
  const { deadline, final } = state
  switch (event.kind) {
    case 'drain':
      return { ...state, deadline: final ? earlier(deadline, event.deadline) : event.deadline }
    case 'signal':
      return final ? ENDING : { phase: 'draining', deadline: earlier(deadline, event.deadline), final: true }
    case 'undrain':
      if (final) throw shutdownIsFinal()
      return RUNNING
    case 'terminate':
      return ENDING
    case 'tick':
      if (event.empty) return ENDING
      if (deadline === null || event.now < deadline) return state
      return event.finishBy === undefined ? ENDING : { phase: 'finishing', deadline: event.finishBy, final }
  }
}

function whenFinishing(state: Extract<LifecycleState, { phase: 'finishing' }>, event: LifecycleEvent): LifecycleState {
  switch (event.kind) {
    case 'drain':
      return state
    case 'signal':
      return state.final ? ENDING : { ...state, final: true }
    case 'undrain':
      throw shutdownIsFinal()
    case 'terminate':
      return ENDING
    case 'tick':
      return event.empty || event.now >= state.deadline ? ENDING : state
  }
}

const shutdownIsFinal = (): ServiceError =>
  new ServiceError('CONFLICT', 'the media node is shutting down and cannot be undrained', { subject: 'mediaNode' })
