/** Calls `task` when the computer is back on a network; the returned function ends it. Outside a browser: never. */
export function onBackOnline(task: () => void): () => void {
  if (typeof window === 'undefined') return () => {}
  window.addEventListener('online', task)
  return () => window.removeEventListener('online', task)
}

/** Calls `task` when the page goes away for good; the returned function ends it. */
export function onPageHide(task: () => void): () => void {
  if (typeof window === 'undefined') return () => {}
  window.addEventListener('pagehide', task)
  return () => window.removeEventListener('pagehide', task)
}
