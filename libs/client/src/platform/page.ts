/** Calls `task` when the computer is online again; the returned function removes the listener. No-op outside a browser. */
export function onBackOnline(task: () => void): () => void {
  if (typeof window === 'undefined') return () => {}
  window.addEventListener('online', task)
  return () => window.removeEventListener('online', task)
}

/** Calls `task` when the page is unloaded; the returned function removes the listener. No-op outside a browser. */
export function onPageHide(task: () => void): () => void {
  if (typeof window === 'undefined') return () => {}
  window.addEventListener('pagehide', task)
  return () => window.removeEventListener('pagehide', task)
}

/** Whether the page is a tab in the background or a minimized window. False outside a browser. */
export const isPageHidden = (): boolean => typeof document !== 'undefined' && document.hidden
