import { type Publisher, Session } from '@session-service/client'
import { type Address, readAddress, withSession } from './session/address.js'
import { fetchToken } from './session/api.js'
import { CallScreen } from './screens/call-screen.js'
import { JoinScreen, type JoinRequest } from './screens/join-screen.js'
import { leftScreen } from './screens/left-screen.js'
import { friendlySessionName } from './text/names.js'
import { reasonInWords } from './text/words.js'

declare global {
  interface Window {
    /** The current session and publisher, for tests and debugging. */
    playground: { readonly session: Session | undefined; readonly publisher: Publisher | undefined }
  }
}

/** Set during a session, so that a reload joins it again. */
const IN_SESSION = 'playground.in'

class Page {
  #join: JoinScreen | undefined
  #call: CallScreen | undefined
  #session: Session | undefined
  readonly #root: HTMLElement
  #address: Address

  constructor(root: HTMLElement, address: Address) {
    this.#root = root
    this.#address = address
  }

  get session(): Session | undefined {
    return this.#session
  }
  get publisher(): Publisher | undefined {
    return this.#call?.publisher
  }

  start(): void {
    this.#updateUrl(this.#address.session)
    const wasIn = sessionStorage.getItem(IN_SESSION) === this.#address.session
    const screen = this.showJoin()
    if (this.#address.autojoin || wasIn) void screen.submit()
  }

  showJoin(): JoinScreen {
    this.#clear()
    const { session, nickname = '' } = this.#address
    this.#join = new JoinScreen({ session, nickname, join: (request) => this.#enter(request) })
    this.#root.replaceChildren(this.#join.element)
    return this.#join
  }

  key(event: KeyboardEvent): void {
    if (event.key === 'Escape') return void this.#call?.escape()
    const { target, ctrlKey, metaKey, altKey, repeat } = event
    const isEditing = target instanceof Element && target.closest('input, textarea, select, dialog') !== null
    if (isEditing || ctrlKey || metaKey || altKey || repeat) return
    const key = event.key.toLowerCase()
    const screen = this.#call ?? this.#join
    if (key === 'm') void screen?.toggle('audio')
    if (key === 'v') void screen?.toggle('video')
    if (key === 'c' && this.#call) {
      event.preventDefault()
      this.#call.toggleChat()
    }
  }

  async #enter({ session: name, nickname, publisher }: JoinRequest): Promise<void> {
    const token = await fetchToken({ session: name, nickname, role: this.#address.role })
    const session = new Session()
    const call = new CallScreen(session, { name, leave: () => void session.disconnect() })
    session.on('sessionDisconnected', ({ reason }) => this.#left(name, reasonInWords(reason)))
    try {
      await session.connect(token)
    } catch (error) {
      call.close()
      throw error
    }
    if (session.state === 'disconnected') {
      // It ended while it was joined: the screen after leaving is shown already.
      call.close()
      return publisher?.close()
    }
    this.#updateUrl(name)
    sessionStorage.setItem(IN_SESSION, name)
    this.#join?.close()
    this.#join = undefined
    this.#session = session
    this.#call = call
    this.#root.replaceChildren(call.element)
    call.focus()
    document.title = `${name} · Playground`
    await call.start(publisher)
  }

  #left(name: string, reason: string): void {
    sessionStorage.removeItem(IN_SESSION)
    this.#clear()
    document.title = 'Playground'
    const again = (): void => this.showJoin().focus()
    const elsewhere = (): void => {
      this.#updateUrl(friendlySessionName())
      this.showJoin().focus()
    }
    this.#root.replaceChildren(leftScreen({ name, reason, again, elsewhere }))
  }

  #clear(): void {
    this.#join?.close()
    this.#call?.close()
    this.#join = this.#call = this.#session = undefined
  }

  /** Puts the session into the URL, so that a reload and a copied URL lead to it. */
  #updateUrl(session: string): void {
    this.#address = { ...this.#address, session }
    history.replaceState(undefined, '', withSession(location.search, session))
  }
}

const root = document.querySelector<HTMLElement>('#app')
if (root) {
  const page = new Page(root, readAddress(location.search))
  window.playground = page
  window.addEventListener('keydown', (event) => page.key(event))
  page.start()
}
