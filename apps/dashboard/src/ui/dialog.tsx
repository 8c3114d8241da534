import type { VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { dialog, type DialogRequest } from '../data/dialog.js'
import { messageFrom } from '../data/http.js'
import { IconButton } from './buttons.js'

/** The dialog of actions. Closing it returns focus to the button that opened it, or to the screen without it. */
export function DialogHost(): VNode | null {
  const request = dialog.value
  return request ? <ActionDialog request={request} /> : null
}

/** Opens the element as a modal dialog, and focuses the screen when the element that had focus has gone meanwhile. */
export function useModal(onClosed: () => void) {
  const element = useRef<HTMLDialogElement>(null)
  // Before the next paint: keys that follow a click belong to the dialog.
  useLayoutEffect(() => {
    const opener = document.activeElement
    element.current?.showModal()
    return () => {
      if (!opener?.isConnected) document.querySelector<HTMLElement>('h1')?.focus()
    }
  }, [])
  const close = (): void => element.current?.close()
  return { close, props: { ref: element, onClose: onClosed } }
}

function useAction(request: DialogRequest, close: () => void) {
  const [error, setError] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError('')
    request
      .run(new FormData(event.currentTarget))
      .then(close, (reason: unknown) => setError(messageFrom(reason)))
      .finally(() => setBusy(false))
  }
  return { error, isBusy, submit }
}

function ActionDialog({ request }: { request: DialogRequest }): VNode {
  const { close, props } = useModal(() => (dialog.value = undefined))
  const { error, isBusy, submit } = useAction(request, close)
  const { title, body, confirm, isDangerous = false } = request
  return (
    <dialog class="dialog" aria-labelledby="dialog-title" {...props}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <IconButton icon="close" label="Close" kind="quiet" onClick={close} />
      </header>
      <form class="dialog-form" onSubmit={submit}>
        <div class="dialog-body">{body}</div>
        {error && (
          <p class="problem" role="alert">
            {error}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" class="secondary" autofocus={isDangerous} onClick={close}>
            Cancel
          </button>
          <button type="submit" class={`primary ${isDangerous ? 'danger' : ''}`} disabled={isBusy}>
            {isBusy && <span class="spinner" aria-hidden="true" />}
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  )
}
