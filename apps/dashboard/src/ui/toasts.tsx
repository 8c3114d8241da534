import type { VNode } from 'preact'
import { dismissToast, toasts } from '../data/toasts.js'
import { IconButton } from './buttons.js'
import { Icon } from './icon.js'

/** The regions exist from the start, so that screen readers announce what is added. */
export const Toasts = (): VNode => (
  <div class="toasts">
    <List kind="success" />
    <List kind="error" />
  </div>
)

const List = ({ kind }: { kind: 'success' | 'error' }): VNode => (
  <div role={kind === 'error' ? 'alert' : 'status'} aria-live={kind === 'error' ? 'assertive' : 'polite'}>
    {toasts.value
      .filter((toast) => toast.kind === kind)
      .map(({ id, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === 'error' ? 'warning' : 'check'} />
          <p>{text}</p>
          <IconButton icon="close" label="Dismiss" kind="quiet" onClick={() => dismissToast(id)} />
        </div>
      ))}
  </div>
)
