import { signal } from '@preact/signals'
import { messageFrom } from './http.js'

interface Toast {
  id: number
  kind: 'success' | 'error'
  text: string
}

const SHOWN_MS = 6_000
let lastId = 0

export const toasts = signal<readonly Toast[]>([])

export const dismissToast = (id: number): void => void (toasts.value = toasts.value.filter((toast) => toast.id !== id))

function show(kind: Toast['kind'], text: string): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-3), { id, kind, text }]
  // Errors remain until they are dismissed.
  if (kind === 'success') setTimeout(() => dismissToast(id), SHOWN_MS)
}

export const succeed = (text: string): void => show('success', text)
export const fail = (error: unknown): void => show('error', messageFrom(error))
