import { signal } from '@preact/signals'
import { DASHBOARD_PATH, type AccountView } from '@session-service/contract/dashboard'
import { mayAct, type Action } from '../platform/rights.js'
import { RequestError, send } from './http.js'

/** Undefined while it is being read, null when signed out. */
export const account = signal<AccountView | null | undefined>(undefined)
/** A sentence for the sign-in screen. */
export const signInNotice = signal('')

const EXPIRED = 'Your sign-in has expired. Sign in again to go on where you were.'

/** Whether the page offers the action. */
export const may = (action: Action): boolean => (account.value ? mayAct(account.value.credential.role, action) : false)

/** Leads to the sign-in screen; the address stays, so that the operator comes back to it. */
export function expire(): void {
  if (account.value) signInNotice.value = EXPIRED
  account.value = null
}

/** Reads the account of the cookie. Rejects when the service does not answer. */
export async function loadAccount(): Promise<void> {
  const before = account.value
  const read = await readAccount()
  // A sign-in or a sign-out meanwhile is newer.
  if (account.value !== before) return
  if (!read) expire()
  // An equal account would render the whole page again.
  else if (JSON.stringify(read) !== JSON.stringify(before)) account.value = read
}

/** Undefined without a valid cookie. */
async function readAccount(): Promise<AccountView | undefined> {
  try {
    return await send<AccountView>('GET', `${DASHBOARD_PATH}/account`)
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 401) throw error
    return undefined
  }
}

export async function signIn(secret: string): Promise<void> {
  account.value = await send<AccountView>('POST', `${DASHBOARD_PATH}/sign-in`, { body: { secret } })
  signInNotice.value = ''
}

export async function signOut(): Promise<void> {
  await request('POST', `${DASHBOARD_PATH}/sign-out`)
  signInNotice.value = 'You are signed out.'
  account.value = null
}

/**
 * A request of the signed-in operator. A 401 leads to the sign-in screen. Another tab may have replaced the cookie, whose
 * token differs: after a 403 the request is sent once more with the token of the present cookie.
 */
export async function request<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
  const csrfToken = account.value?.csrfToken
  try {
    return await send<T>(method, path, { body, csrfToken })
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    if (error.status === 401) expire()
    const present = error.status === 403 ? await presentToken() : undefined
    if (present === undefined || present === csrfToken) throw error
    return send<T>(method, path, { body, csrfToken: present })
  }
}

async function presentToken(): Promise<string | undefined> {
  await loadAccount().catch(() => undefined)
  return account.value?.csrfToken
}

/** A path of the REST API; each part is encoded. */
export const apiPath = (...parts: readonly string[]): string =>
  `/service/api/${parts.map((part) => encodeURIComponent(part)).join('/')}`
