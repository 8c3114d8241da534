import { signal } from '@preact/signals'
import { changeQuery, parseRoute, type Route } from '../platform/routes.js'
import { dialog } from './dialog.js'
import { played } from './player.js'

export const route = signal<Route>(parseRoute(location.hash))

/** Shows the screen of the address. A dialog belongs to the screen on which it was opened. */
export const followAddress = (): void =>
  addEventListener('hashchange', () => {
    dialog.value = undefined
    played.value = undefined
    route.value = parseRoute(location.hash)
  })

/** Changes parameters of the current screen, with the rules of `changeQuery`. */
export function setQuery(change: Readonly<Record<string, string | number>>): void {
  const link = changeQuery(route.value, location.hash, change)
  if (link === undefined) return
  // Typing in a field must not fill the history of the browser; a page of a table is a step back.
  if ('page' in change) location.hash = link
  else {
    history.replaceState(null, '', link)
    route.value = parseRoute(link)
  }
}
