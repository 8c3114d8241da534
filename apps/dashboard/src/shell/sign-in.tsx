import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { signIn, signInNotice } from '../data/account.js'
import { messageFrom, RequestError } from '../data/http.js'
import { formatDuration } from '../platform/format.js'
import { PRODUCT } from '../ui/screen.js'

function reasonOf(error: unknown): string {
  if (!(error instanceof RequestError)) return messageFrom(error)
  if (error.status === 401) return 'This is not a secret of the service.'
  if (error.status !== 429) return error.message
  const wait = error.retryAfter === undefined ? 'later' : `in ${formatDuration(error.retryAfter)}`
  return `Too many attempts failed. Try again ${wait}.`
}

function useSignIn() {
  const [error, setError] = useState('')
  const [isBusy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const secret = field.current?.value ?? ''
    if (isBusy || secret === '') return
    setBusy(true)
    setError('')
    signIn(secret)
      .catch((reason: unknown) => {
        setError(reasonOf(reason))
        field.current?.select()
      })
      .finally(() => setBusy(false))
  }
  return { error, isBusy, field, submit }
}

/** Shown in place of each screen while signed out; the address stays that of the screen. */
export function SignIn(): VNode {
  useEffect(() => {
    document.title = `Sign in – ${PRODUCT}`
  }, [])
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <img src="icon.svg" alt="" width="48" height="48" />
        <div>
          <h1>{PRODUCT}</h1>
          <p class="note">Dashboard for operators</p>
        </div>
        {signInNotice.value && (
          <p class="notice" role="status">
            {signInNotice.value}
          </p>
        )}
        <SignInForm />
      </div>
    </main>
  )
}

function SignInForm(): VNode {
  const { error, isBusy, field, submit } = useSignIn()
  useEffect(() => field.current?.focus(), [])
  return (
    <form onSubmit={submit}>
      <div class="field">
        <label for="user">User name</label>
        <input id="user" name="username" autocomplete="username" value="SERVICEAPP" readOnly />
      </div>
      <div class="field">
        <label for="secret">Secret</label>
        <input
          id="secret"
          name="password"
          type="password"
          autocomplete="current-password"
          required
          maxLength={1024}
          ref={field}
          aria-invalid={error !== ''}
          aria-describedby="sign-in-error"
        />
      </div>
      <div id="sign-in-error" role="alert">
        {error && <p class="problem">{error}</p>}
      </div>
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy && <span class="spinner" aria-hidden="true" />}
        Sign in
      </button>
    </form>
  )
}
