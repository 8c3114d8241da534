import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

export interface DialogRequest {
  title: string
  body: ComponentChildren
  /** The label of the button that runs the action. */
  confirm: string
  isDangerous?: boolean
  /** Runs the action with the fields of the body. An error is shown in the dialog, which stays open. */
  run(fields: FormData): Promise<void>
}

/** The open dialog. It lives beside the screens, so that their updates do not close it. */
export const dialog = signal<DialogRequest | undefined>(undefined)

export const openDialog = (request: DialogRequest): void => void (dialog.value = request)

/** The text of a field; empty when it is missing. */
export function fieldOf(fields: FormData, name: string): string {
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}
