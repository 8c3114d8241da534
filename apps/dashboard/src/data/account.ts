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
  try {
    const read = await send<AccountView>('GET', `${DASHBOARD_PATH}/account`)
    // An equal account would render the whole page again.
    if (read.csrfToken !== account.value?.csrfToken) account.value = read
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 401) throw error
    expire()
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

/** A request of the signed-in operator. A 401 leads to the sign-in screen. */
export async function request<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
  try {
    return await send<T>(method, path, { body, csrfToken: account.value?.csrfToken })
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) expire()
    throw error
  }
}

/** A path of the REST API; each part is encoded. */
export const apiPath = (...parts: readonly string[]): string =>
  `/service/api/${parts.map((part) => encodeURIComponent(part)).join('/')}`
