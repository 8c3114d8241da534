import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { fail, succeed } from '../data/toasts.js'
import { Icon, type IconName } from './icon.js'

interface ButtonProps {
  icon?: IconName
  label: string
  /** The accessible name where `label` alone does not name the object. */
  name?: string
  isDangerous?: boolean
  onClick: () => void
}

/** A button of a row or of the head of a screen. */
export const Button = ({ icon, label, name, isDangerous = false, onClick }: ButtonProps): VNode => (
  <button
    type="button"
    class={`chip ${isDangerous ? 'danger' : ''} ${icon ? '' : 'text'}`}
    aria-label={name}
    onClick={onClick}
  >
    {icon && <Icon name={icon} />}
    {label}
  </button>
)

/** A button of an action without confirmation; its result is a toast. */
export function ActionButton(
  props: Omit<ButtonProps, 'onClick'> & { run: () => Promise<unknown>; done: string },
): VNode {
  const { run, done, ...button } = props
  const [isBusy, setBusy] = useState(false)
  const click = (): void => {
    if (isBusy) return
    setBusy(true)
    void run()
      .then(() => succeed(done), fail)
      .finally(() => setBusy(false))
  }
  return <Button {...button} onClick={click} />
}

/** A round button with an icon alone. */
export const IconButton = (props: { icon: IconName; label: string; kind?: string; onClick: () => void }): VNode => (
  <button
    type="button"
    class={`round small ${props.kind ?? ''}`}
    aria-label={props.label}
    title={props.label}
    onClick={props.onClick}
  >
    <Icon name={props.icon} />
  </button>
)

/** Copies a text to the clipboard. */
export const CopyButton = ({ text, label }: { text: string; label: string }): VNode => (
  <IconButton
    icon="copy"
    label={label}
    kind="quiet"
    onClick={() =>
      void navigator.clipboard.writeText(text).then(
        () => succeed('Copied'),
        () => fail(new Error('The browser does not permit copying here')),
      )
    }
  />
)
