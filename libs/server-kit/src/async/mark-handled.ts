/** Keeps Node from reporting a rejection as unhandled: those who await the promise get it, now or later, if there are any. */
export const markHandled = (promise: Promise<unknown>): void => void promise.catch(() => undefined)
