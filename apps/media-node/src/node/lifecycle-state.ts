import { ServiceError } from '@session-service/contract'

/** Where a node is on its way from start to end. */
export type Life =
  | { readonly phase: 'running' }
  /** Takes no new rooms and waits for those it has; `deadline` in monotonic ms. `final`: there is no way back. */
  | { readonly phase: 'draining'; readonly deadline: number | null; readonly final: boolean }
  /** Closes what it holds and ends. */
  | { readonly phase: 'ending' }

export type LifeEvent =
  /** A master asks. */
  | { readonly kind: 'drain'; readonly deadline: number | null }
  | { readonly kind: 'undrain' }
  | { readonly kind: 'terminate' }
  /** SIGTERM or SIGINT: whoever runs the process wants it gone; the second one at once. */
  | { readonly kind: 'signal'; readonly deadline: number }
  /** Time has passed, or a room has gone. */
  | { readonly kind: 'look'; readonly now: number; readonly empty: boolean }

export const RUNNING: Life = { phase: 'running' }
const ENDING: Life = { phase: 'ending' }

const nearer = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

/**
 * What follows. There is no other way through a node's life, whoever asks.
 * @throws ServiceError CONFLICT when a node that is on its way out for good shall run again
 */
export function nextLife(life: Life, event: LifeEvent): Life {
  switch (life.phase) {
    case 'running':
      return whenRunning(life, event)
    case 'draining':
      return whenDraining(life, event)
    case 'ending':
      if (event.kind === 'undrain') throw onItsWayOut()
      return life
  }
}

function whenRunning(life: Life, event: LifeEvent): Life {
  switch (event.kind) {
    case 'drain':
    case 'signal':
      return { phase: 'draining', deadline: event.deadline, final: event.kind === 'signal' }
    case 'terminate':
      return ENDING
    case 'undrain':
    case 'look':
      return life
  }
}

function whenDraining(life: Extract<Life, { phase: 'draining' }>, event: LifeEvent): Life {
  const { deadline, final } = life
  switch (event.kind) {
    case 'drain':
      return { ...life, deadline: final ? nearer(deadline, event.deadline) : event.deadline }
    case 'signal':
      return final ? ENDING : { phase: 'draining', deadline: nearer(deadline, event.deadline), final: true }
    case 'undrain':
      if (final) throw onItsWayOut()
      return RUNNING
    case 'terminate':
      return ENDING
    case 'look':
      return event.empty || (deadline !== null && event.now >= deadline) ? ENDING : life
  }
}

const onItsWayOut = (): ServiceError =>
  new ServiceError('CONFLICT', 'the media node was told to end and does so', { subject: 'mediaNode' })
